/** Graphs of executions. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Conflict, ExecutionFailed, ExecutionSkipped, InvalidRequest, NotFound, PermanentError } from "flowfabric";

import { during, serverOfTests, SOON } from "./fixture.js";

const server = await serverOfTests();

test("a node reads the results of those that it depends on", async () => {
  const { app, client } = server.namespace({ concurrency: 4 });
  app.task("count", (text: string) => text.split(" ").length);
  app.task("sum", async (_, task) => (await task.upstream<number>("left")) + (await task.upstream<number>("right")));
  await during(app, async () => {
    const flow = await client.submitFlow({
      left: { kind: "count", input: "some words" },
      right: { kind: "count", input: "and three more" },
      sum: { kind: "sum", after: ["left", "right"] },
    });
    assert.equal(await flow.result<number>("sum", SOON), 5);
    assert.equal(await flow.wait(SOON), "completed");
    const { counts, members } = await flow.describe();
    assert.equal(counts.completed, 3);
    assert.deepEqual(members.map((member) => [member.name, member.after]), [["left", []], ["right", []], ["sum", [0, 1]]]);
    assert.equal(await (await flow.node("left")).state(), "completed");
    await assert.rejects(client.flow(flow.id).node("nobody"), NotFound);
  });
});

test("what is not upstream cannot be read", async () => {
  const { app, client } = server.namespace();
  app.task("alone", (_, task) => task.upstream("other"));
  await during(app, async () => {
    const flow = await client.submitFlow({ other: { kind: "alone", lane: "nowhere" }, alone: { kind: "alone" } });
    await assert.rejects(flow.result("alone", SOON), ExecutionFailed);
  });
});

test("a failure skips what depends on it, and a replay runs both again", async () => {
  const { app, client } = server.namespace();
  let broken = true;
  app.task("first", () => {
    if (broken) throw new PermanentError("broken");
    return 1;
  });
  app.task("second", async (_, task) => Number(await task.upstream("first")) + 1);
  await during(app, async () => {
    const flow = await client.submitFlow({ first: { kind: "first" }, second: { kind: "second", after: ["first"] } });
    assert.equal(await flow.wait(SOON), "failed");
    await assert.rejects(flow.result("second", SOON), ExecutionSkipped);
    broken = false;
    assert.equal(await flow.replay(), 1);
    assert.equal(await flow.result("second", SOON), 2);
    assert.equal(await flow.wait(SOON), "completed");
  });
});

test("the winner of a race cancels the rest", async () => {
  const { app, client } = server.namespace();
  app.task("quick", () => "quick");
  app.task("first", (_, task) => task.upstream("quick"));
  await during(app, async () => {
    const flow = await client.submitFlow({
      quick: { kind: "quick" },
      never: { kind: "never", lane: "nowhere" },
      first: { kind: "first", after: ["quick", "never"], join: "any", rest: "cancel" },
    });
    assert.equal(await flow.wait(SOON), "completed");
    assert.equal(await flow.result("first", SOON), "quick");
    assert.equal(await (await flow.node("never")).state(), "cancelled");
  });
});

test("a key makes one flow of many submits, and a cancel ends it", async () => {
  const { client } = server.namespace();
  const graph = { a: { kind: "nobody" }, b: { kind: "nobody", after: ["a"] } } as const;
  const flow = await client.submitFlow(graph, { key: "report", tags: { team: "core" } });
  assert.equal((await client.submitFlow(graph, { key: "report", tags: { team: "core" } })).id, flow.id);
  await assert.rejects(client.submitFlow({ a: { kind: "other" } }, { key: "report" }), Conflict);
  await flow.cancel({ reason: "not needed" });
  assert.equal(await flow.wait(SOON), "cancelled");
});

test("a graph that cannot be is refused, and the node at fault is named", async () => {
  const { client } = server.namespace();
  const circle = { a: { kind: "x", after: ["b"] }, b: { kind: "x", after: ["a"] } } as const;
  await assert.rejects(client.submitFlow(circle), (error: unknown) => {
    return error instanceof InvalidRequest && /depends on itself/.test(error.message);
  });
});
