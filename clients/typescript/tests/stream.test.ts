/** What a task streams while it runs, and its summary. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ExecutionFailed, RetryableError } from "flowfabric";

import { during, gathered, QUICKLY, serverOfTests, SOON } from "./fixture.js";

const server = await serverOfTests();
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

test("frames come once and in order over all attempts", async () => {
  const { app, client } = server.namespace();
  app.task("talk", async (_, task) => {
    for (const number of numbers(50)) void task.emit("log", `${task.attempt}-${number}`);
    await task.emit("raw", Uint8Array.of(255, 0));
    if (task.attempt === 0) throw new RetryableError("once more");
  });
  await during(app, async () => {
    const work = await client.submit("talk", null, QUICKLY);
    const frames = await gathered(work.tail());
    const said = frames.filter((frame) => frame.type === "log").map((frame) => frame.text);
    assert.deepEqual(said, [0, 1].flatMap((attempt) => numbers(50).map((number) => `${attempt}-${number}`)));
    const raw = frames.filter((frame) => frame.type === "raw").map((frame) => frame.data);
    assert.deepEqual(raw, [Uint8Array.of(255, 0), Uint8Array.of(255, 0)]);
    assert.deepEqual(frames.map((frame) => frame.number), numbers(102));
    const last = await gathered(work.tail({ after: 100, follow: false }));
    assert.deepEqual(last.map((frame) => frame.number), [100, 101]);
  });
});

test("tokens of a moment are one frame", async () => {
  const { app, client } = server.namespace();
  app.task("talk", async (_, task) => {
    await task.emit("status", "thinking");
    const tokens = task.stream("said");
    for (const number of numbers(500)) await tokens.write(`${number} `);
  });
  await during(app, async () => {
    const frames = (await gathered((await client.submit("talk")).tail())).filter((frame) => frame.type === "said");
    assert.equal(frames.map((frame) => frame.text).join(""), numbers(500).map((number) => `${number} `).join(""));
    assert.ok(frames.length < 500, "they were gathered");
  });
});

test("a handler that streams too fast waits for room", async () => {
  const { app, client } = server.namespace();
  app.task("flood", async (count: number, task) => {
    for (const number of numbers(count)) await task.emit("data", new Uint8Array(60_000).fill(number));
    await task.stream("long").write("x".repeat(200_000));
    return count;
  });
  await during(app, async () => {
    const work = await client.submit("flood", 40);
    assert.equal(await work.result(SOON), 40);
    const frames = await gathered(work.tail());
    const sent = frames.filter((frame) => frame.type === "data").map((frame) => frame.data[0]);
    assert.deepEqual(sent, numbers(40), "2 MB in frames, and room for one");
    const long = frames.filter((frame) => frame.type === "long").reduce((sum, frame) => sum + frame.data.length, 0);
    assert.equal(long, 200_000);
  });
});

test("a frame has a bound", async () => {
  const { app, client } = server.namespace();
  app.task("large", (_, task) => task.emit("data", new Uint8Array((64 << 10) + 1)));
  await during(app, async () => {
    const work = await client.submit("large");
    const tooLarge = (error: unknown): boolean => error instanceof ExecutionFailed && error.category === "too_large";
    await assert.rejects(work.result(SOON), tooLarge);
  });
});

test("frames are kept before a task parks", async () => {
  const { app, client } = server.namespace();
  app.task("parks", async (_, task) => {
    if (task.lastProgress === undefined) {
      await task.progress(50);
      void task.emit("log", "before");
      await task.sleep("nap", 10);
    }
    await task.sleep("nap", 10);
    void task.emit("log", "after");
  });
  await during(app, async () => {
    const frames = await gathered((await client.submit("parks")).tail());
    assert.deepEqual(frames.map((frame) => frame.text), ["before", "after"]);
  });
});

test("a summary is patched", async () => {
  const { app, client } = server.namespace();
  app.task("sums", async (_, task) => {
    void task.summarize({ done: task.attempt, rows: [1] });
    if (task.attempt === 1) void task.summarize({ rows: null });
    await task.summarize({ end: task.attempt });
    if (task.attempt === 0) throw new RetryableError("once more");
  });
  await during(app, async () => {
    const work = await client.submit("sums", null, QUICKLY);
    await work.wait(SOON);
    assert.deepEqual(await work.summary(), { done: 1, end: 1 });
  });
  assert.equal(await (await client.submit("nobody")).summary(), null);
});
