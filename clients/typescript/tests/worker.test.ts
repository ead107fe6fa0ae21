/** What a worker does around its handlers: heartbeats, cancels, drains, lanes, its registration. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { AccessDenied, App, Conflict, ExecutionCancelled, ExecutionFailed, Stopped } from "flowfabric";
import { Server } from "flowfabric/testing";

import { block, during, Happening, Program, QUICKLY, serverOfTests, SOON, TIMEOUT_MS, until } from "./fixture.js";

const server = await serverOfTests();
const SLOW = new URL("./programs/slow.js", import.meta.url);

test("a handler that blocks the event loop keeps its lease, and that of others", async () => {
  const { app, client } = server.namespace({ concurrency: 2 });
  app.task("blocks", () => block(4_000));
  app.task("waits", () => sleep(4_000));
  await during(app, async () => {
    const works = [];
    for (const kind of ["waits", "blocks"]) works.push(await client.submit(kind, null, { leaseTtlMs: 2_000, maxAttempts: 1 }));
    for (const work of works) {
      await work.result(SOON);
      assert.deepEqual((await work.attempts()).map((one) => one.status), ["completed"]);
    }
  });
});

test("a handler that blocks the event loop sees that it should stop", async () => {
  const { client } = server.namespace();
  const own = new App(server.url, { namespace: client.namespace, concurrency: 1 });
  const seen: unknown[] = [];
  own.task("blocks", (_, task) => {
    block(TIMEOUT_MS, () => task.stopping);
    seen.push(task.stopReason);
    task.check();
  });
  // Nothing of this process can cancel it while it blocks: its attempt is bounded.
  const work = await client.submit("blocks", null, { attemptTimeoutMs: 500, maxAttempts: 1 });
  await during(own, async () => {
    await assert.rejects(work.result(SOON), ExecutionFailed);
  });
  assert.deepEqual(seen, ["timed_out"]);
  assert.deepEqual((await work.attempts()).map((one) => one.status), ["timed_out"]);
});

test("a cancel aborts the signal of a task", async () => {
  const { app, client } = server.namespace();
  const [started, stopped] = [new Happening(), new Happening()];
  let reason: unknown;
  app.task("slow", async (_, task) => {
    started.set();
    try {
      await sleep(TIMEOUT_MS, undefined, { signal: task.signal });
    } catch (error) {
      reason = task.signal.reason;
      stopped.set();
      throw error;
    }
  });
  await during(app, async () => {
    const work = await client.submit("slow");
    await started.promise;
    await work.cancel();
    await stopped.promise;
    assert.equal(await work.state(), "cancelled");
  });
  assert.ok(reason instanceof Stopped && reason.reason === "cancelled");
});

test("a cancel ends a handler at its next call of the task", async () => {
  const { app, client } = server.namespace();
  const [started, stopped] = [new Happening(), new Happening()];
  let reason = "";
  app.task("slow", async (_, task) => {
    started.set();
    try {
      for (;;) await task.progress(1, "still here");
    } catch (error) {
      if (error instanceof Stopped) reason = error.reason;
      stopped.set();
      throw error;
    }
  });
  await during(app, async () => {
    const work = await client.submit("slow");
    await started.promise;
    await work.cancel();
    await stopped.promise;
  });
  assert.equal(reason, "cancelled");
});

test("a cancel with grace leaves time for a result", async () => {
  const { app, client } = server.namespace({ concurrency: 2 });
  let started = new Happening();
  app.task("polite", async (_, task) => {
    started.set();
    await until(() => task.stopping);
    return `done, though ${task.stopReason}`;
  });
  app.task("checks", async (_, task) => {
    started.set();
    for (;;) {
      task.check();
      await sleep(20);
    }
  });
  app.task("aborts", async (_, task) => {
    started.set();
    await sleep(TIMEOUT_MS, undefined, { signal: task.signal });
  });
  await during(app, async () => {
    const work = await client.submit("polite");
    await started.promise;
    await work.cancel({ graceMs: TIMEOUT_MS });
    assert.equal(await work.result(SOON), "done, though cancel_requested");
    for (const kind of ["checks", "aborts"]) {
      started = new Happening();
      const other = await client.submit(kind);
      await started.promise;
      await other.cancel({ graceMs: TIMEOUT_MS });
      await assert.rejects(other.result(SOON), ExecutionCancelled);
    }
  });
});

test("an attempt past its timeout is stopped and tried again", async () => {
  const { app, client } = server.namespace();
  app.task("hangs", async (_, task) => {
    if (task.attempt === 0) await sleep(TIMEOUT_MS, undefined, { signal: task.signal });
    return task.attempt;
  });
  await during(app, async () => {
    const work = await client.submit("hangs", null, { attemptTimeoutMs: 300, ...QUICKLY });
    assert.equal(await work.result(SOON), 1);
    assert.deepEqual((await work.attempts()).map((one) => one.status), ["timed_out", "completed"]);
  });
});

test("a revoked lease changes nothing any more", async () => {
  const { app, client } = server.namespace();
  const [started, go] = [new Happening(), new Happening()];
  const ends: unknown[] = [];
  app.task("held", async (_, task) => {
    if (started.happened) return "second";
    started.set();
    await go.promise;
    try {
      await task.step("late", () => ends.push("ran"));
    } finally {
      ends.push(task.stopReason);
    }
    return "first";
  });
  await during(app, async () => {
    const work = await client.submit("held");
    await started.promise;
    const { lease } = await work.describe();
    assert.ok(lease);
    await client.call("POST /v1/executions/{id}/revoke", { path: { id: work.id }, body: { lease: lease.id } });
    await until(async () => (await work.state()) !== "active");
    go.set();
    assert.equal(await work.result(SOON), "second");
    assert.deepEqual(await work.steps(), [], "a stale holder keeps nothing");
  });
  assert.equal(ends.at(-1), "lease_lost");
});

test("several lanes are served and tasks run at once", async () => {
  const { app, client } = server.namespace({ concurrency: 4 });
  const together = new Happening();
  let met = 0;
  const meet = async (): Promise<number> => {
    met += 1;
    if (met === 4) together.set();
    await together.promise;
    return met;
  };
  app.task("a", meet, { lane: "left" }).task("b", meet, { lane: "right" });
  await during(app, async () => {
    const works = [];
    for (const [kind, lane] of [["a", "left"], ["b", "right"], ["a", "left"], ["b", "right"]] as const) {
      works.push(await client.submit(kind, null, { lane }));
    }
    for (const work of works) assert.equal(await work.result(SOON), 4);
  });
});

test("a worker registers and leaves", async () => {
  const { app, client } = server.namespace({ name: "mine", instance: "pod-1", capabilities: ["gpu"] });
  app.task("any", (value) => value, { lane: "mine" });
  await during(app, async () => {
    const [worker] = await client.workers();
    assert.deepEqual([worker?.worker, worker?.instance, worker?.lanes, worker?.capabilities], ["mine", "pod-1", ["mine"], ["gpu"]]);
    await assert.rejects(app.start(), (error: unknown) => error instanceof Conflict && error.code === "worker_alive");
    const work = await client.submit("any", 1, { lane: "mine", requires: ["gpu"] });
    assert.equal(await work.result(SOON), 1);
  });
  assert.deepEqual(await client.workers(), []);
});

test("until idle, a worker ends when there is no work", async () => {
  const { app, client } = server.namespace();
  app.task("double", (value: number) => value * 2);
  const works = await Promise.all([0, 1, 2, 3, 4].map((number) => client.submit("double", number)));
  await app.run({ untilIdle: true });
  for (const work of works) assert.equal(await work.state(), "completed");
});

test("a refused worker ends with the reason", async () => {
  await using guarded = await Server.start({ token: "0123456789abcdef0123456789abcdef" });
  const app = new App(guarded.url, { token: "wrong" });
  app.task("any", (value) => value);
  await assert.rejects(app.run(), AccessDenied);
});

test("a stopped worker hands back what does not end", async () => {
  const { app, client } = server.namespace({ drainMs: 0 });
  const started = new Happening();
  app.task("slow", async (_, task) => {
    started.set();
    await sleep(TIMEOUT_MS, undefined, { signal: task.signal });
  });
  const work = await client.submit("slow");
  const running = await app.start();
  await started.promise;
  await running.stop();
  assert.equal(await work.state(), "resumable", "it was handed back");
  assert.deepEqual(await client.workers(), []);
});

test("SIGTERM lets tasks finish", async () => {
  const { client } = server.namespace();
  const work = await client.submit("slow", 500);
  const worker = new Program(SLOW, ["10000"], client);
  await until(async () => (await work.state()) === "active");
  const more = await client.submit("slow", 0);
  worker.kill("SIGTERM");
  assert.equal(await worker.exited, 0);
  assert.equal(await work.state(), "completed");
  assert.equal(await more.state(), "waiting", "it claims nothing more");
});

test("what does not finish in time is handed back, and does not keep the process", async () => {
  const { client } = server.namespace();
  const work = await client.submit("slow", TIMEOUT_MS * 10);
  const worker = new Program(SLOW, ["100"], client);
  await until(async () => (await work.state()) === "active");
  worker.kill("SIGTERM");
  assert.equal(await worker.exited, 0);
  assert.equal(await work.state(), "resumable");
  assert.deepEqual((await work.attempts()).map((one) => one.status), ["open"], "it costs no attempt");
});

test("a second signal does not wait", async () => {
  const { client } = server.namespace();
  const work = await client.submit("slow", TIMEOUT_MS * 10);
  const worker = new Program(SLOW, [String(TIMEOUT_MS * 10)], client);
  await until(async () => (await work.state()) === "active");
  worker.kill("SIGINT");
  await until(() => {
    worker.kill("SIGTERM");
    return !worker.running;
  });
  assert.equal(await work.state(), "resumable");
});

test("a worker and a producer survive a restart of the server", async () => {
  const directory = await mkdtemp(join(tmpdir(), "flowfabric-"));
  const own = await Server.start({ store: `sqlite:${directory}/work.ff` });
  const { app, client } = own.namespace();
  app.task("echo", (value) => value);
  await during(app, async () => {
    assert.equal(await (await client.submit("echo", 1)).result(SOON), 1);
    await own.stop();
    const submitted = client.submit("echo", 2);
    await own.restart();
    assert.equal(await (await submitted).result(SOON), 2);
  });
  await own.stop();
  await rm(directory, { recursive: true });
});
