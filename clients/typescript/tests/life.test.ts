/** The life of a task: submitted, run, retried, failed, replayed, read. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AccessDenied,
  CancelTask,
  Client,
  Conflict,
  DelayTask,
  ExecutionCancelled,
  ExecutionExpired,
  ExecutionFailed,
  type FlowFabricError,
  InvalidRequest,
  NotFound,
  Payload,
  PermanentError,
  RetryableError,
  ServerUnreachable,
  type Task,
  WaitTimeout,
} from "flowfabric";
import { Server } from "flowfabric/testing";

import { during, gathered, QUICKLY, serverOfTests, SOON, until } from "./fixture.js";

const server = await serverOfTests();

test("a plain function and an async one handle work", async () => {
  const { app, client } = server.namespace();
  app.task("plain", (name: string) => `hello, ${name}`);
  app.task("async", async (name: string) => `hi, ${name}`);
  await during(app, async () => {
    assert.equal(await (await client.submit("plain", "world")).result(SOON), "hello, world");
    assert.equal(await (await client.submit("async", "world")).result(SOON), "hi, world");
  });
});

test("a handler sees its task", async () => {
  const { app, client } = server.namespace();
  const see = (_: unknown, task: Task) => [task.kind, task.lane, task.tags, task.attempt, task.run, task.isLastAttempt, task.input];
  app.task("see", see, { lane: "quick" });
  await during(app, async () => {
    const work = await client.submit("see", [1], { lane: "quick", tags: { a: "b" }, maxAttempts: 1 });
    assert.deepEqual(await work.result(SOON), ["see", "quick", { a: "b" }, 0, 0, true, [1]]);
  });
});

test("bytes in are bytes out", async () => {
  const { app, client } = server.namespace();
  app.task("reverse", (data: Uint8Array) => data.slice().reverse());
  const data = Uint8Array.from({ length: 256 }, (_, at) => at);
  await during(app, async () => {
    const work = await client.submit("reverse", data);
    assert.deepEqual(await work.result(SOON), data.slice().reverse());
    assert.deepEqual(await work.input(), new Payload(data));
  });
});

test("a payload keeps its media type and every byte", async () => {
  const { app, client } = server.namespace();
  app.task("picture", (data: Uint8Array, task) => new Payload(data, task.contentType));
  await during(app, async () => {
    const image = new Payload(Uint8Array.of(0x89, 0x50, 0xff, 0), "image/png");
    assert.deepEqual(await (await client.submit("picture", image)).payload(SOON), image);
  });
  const exact = new Payload(new TextEncoder().encode('{"a" :  [1, 2.50,9007199254740993]}'), "application/json");
  assert.deepEqual(await (await client.submit("elsewhere", exact, { lane: "none" })).input(), exact);
});

test("JSON is decoded whatever its text", async () => {
  const { app, client } = server.namespace({ concurrency: 8 });
  app.task("same", (value) => value);
  const values = [null, true, 1.5, "\u00e4\u6f22\u{1f600} \u0000", { a: [1, { b: null }] }, 2 ** 52, [], ""];
  await during(app, async () => {
    const works = await Promise.all(values.map((value) => client.submit("same", value)));
    assert.deepEqual(await Promise.all(works.map((work) => work.result(SOON))), values);
  });
});

test("an error is retried and a permanent one is not", async () => {
  const { app, client } = server.namespace();
  const tries = { retry: 0, never: 0 };
  app.task("retry", (_, task) => {
    tries.retry += 1;
    if (task.attempt === 0) throw new RangeError("the line is busy");
    if (task.attempt === 1) throw new RetryableError("again", { category: "busy" });
    return task.attempt;
  });
  app.task("never", () => {
    tries.never += 1;
    throw new PermanentError("there is nothing to do", { category: "empty" });
  });
  await during(app, async () => {
    const work = await client.submit("retry", null, QUICKLY);
    assert.equal(await work.result(SOON), 2);
    const attempts = (await work.attempts()).map((one) => [one.status, one.failure?.message]);
    assert.deepEqual(attempts, [["failed", "RangeError: the line is busy"], ["failed", "again"], ["completed", undefined]]);
    const failed = await thrown(ExecutionFailed, (await client.submit("never", null, QUICKLY)).result(SOON));
    assert.deepEqual([failed.message, failed.category], ["there is nothing to do", "empty"]);
  });
  assert.deepEqual(tries, { retry: 3, never: 1 });
});

test("a failure says what happened, whatever it says", async () => {
  const { app, client } = server.namespace();
  app.task("fail", (length: number) => {
    throw new PermanentError("\u00e4".repeat(length), { category: "no such category!" });
  });
  await during(app, async () => {
    for (const length of [10, 5000]) {
      const failed = await thrown(ExecutionFailed, (await client.submit("fail", length)).result(SOON));
      assert.ok(failed.message.includes("\u00e4".repeat(10)));
    }
  });
});

test("a result that cannot be kept fails for good", async () => {
  const { app, client } = server.namespace();
  const runs: string[] = [];
  const results: Record<string, unknown> = { large: "x".repeat(1 << 20), set: new Set([1]), nan: [NaN], big: 1n };
  app.task("odd", (which: string) => {
    runs.push(which);
    return results[which];
  });
  const categories = { large: "too_large", set: "bad_payload", nan: "bad_payload", big: "bad_payload" };
  await during(app, async () => {
    for (const [which, category] of Object.entries(categories)) {
      const failed = await thrown(ExecutionFailed, (await client.submit("odd", which)).result(SOON));
      assert.equal(failed.category, category);
    }
  });
  assert.deepEqual(runs, Object.keys(categories), "no run is repeated");
});

test("an input that does not decode fails for good", async () => {
  const { app, client } = server.namespace();
  app.task("same", (value) => value);
  await during(app, async () => {
    const half = new Payload(new TextEncoder().encode("{half"), "application/json");
    const failed = await thrown(ExecutionFailed, (await client.submit("same", half)).result(SOON));
    assert.equal(failed.category, "bad_payload");
  });
});

test("work without a handler fails with the kinds there are", async () => {
  const { app, client } = server.namespace();
  app.task("known", (value) => value);
  await during(app, async () => {
    const work = await client.submit("other", null, { maxAttempts: 1 });
    const failed = await thrown(ExecutionFailed, work.result(SOON));
    assert.equal(failed.category, "no_handler");
    assert.match(failed.message, /this worker has known/);
  });
});

test("a handler delays and cancels its task", async () => {
  const { app, client } = server.namespace();
  let delayed = false;
  app.task("later", (_, task) => {
    if (!delayed) {
      delayed = true;
      throw new DelayTask(50);
    }
    return task.attempt;
  });
  app.task("enough", () => {
    throw new CancelTask("nobody needs it");
  });
  await during(app, async () => {
    assert.equal(await (await client.submit("later")).result(SOON), 0, "a delay costs no attempt");
    const cancelled = await thrown(ExecutionCancelled, (await client.submit("enough")).result(SOON));
    assert.match(cancelled.message, /nobody needs it/);
  });
});

test("a key makes one execution of many submits", async () => {
  const { client } = server.namespace();
  const submit = () => client.submit("once", 1, { key: "order-7" });
  const works = await Promise.all([submit(), submit(), submit()]);
  assert.equal(new Set(works.map((work) => work.id)).size, 1);
  const other = await thrown(Conflict, client.submit("once", 2, { key: "order-7" }));
  assert.equal(other.code, "idempotency_conflict");
});

test("a wait ends with its time, and a deadline ends an execution", async () => {
  const { client } = server.namespace();
  const work = await client.submit("nobody");
  const late = await thrown(WaitTimeout, work.result({ timeoutMs: 50 }));
  assert.deepEqual([late.code, late.retryable], ["wait_timeout", true]);
  const short = await client.submit("nobody", null, { deadlineMs: 50 });
  await thrown(ExecutionExpired, short.result(SOON));
  const enough = AbortSignal.abort(new Error("enough"));
  await assert.rejects(work.wait({ signal: enough }), /enough/);
});

test("a replay runs again", async () => {
  const { app, client } = server.namespace();
  app.task("again", (_, task) => task.run);
  await during(app, async () => {
    const work = await client.submit("again");
    assert.equal(await work.result(SOON), 0);
    assert.equal(await work.replay(), 1);
    assert.equal(await work.result(SOON), 1);
    assert.equal((await thrown(Conflict, work.replay({ run: 5 }))).code, "run_mismatch");
  });
});

test("executions are listed page by page", async () => {
  const { client } = server.namespace();
  const submits = Array.from({ length: 120 }, (_, n) => client.submit("listed", null, { tags: { n: `${n % 2},` } }));
  const ids = new Set((await Promise.all(submits)).map((work) => work.id));
  const listed = await gathered(client.executions({ kind: "listed" }));
  assert.deepEqual(new Set(listed.map((one) => one.id)), ids);
  assert.equal((await gathered(client.executions({ tags: { n: "1," } }))).length, 60);
  assert.deepEqual(await gathered(client.executions({ state: ["completed", "failed"] })), []);
});

test("explain says what is waited for", async () => {
  const { client } = server.namespace();
  const why = await (await client.submit("nobody", null, { lane: "empty" })).explain();
  assert.match(why.explanation, /no live worker serves lane empty/);
  assert.equal(why.reasons[0]?.reason, "no_worker_on_lane");
});

test("a budget is charged once for each key", async () => {
  const { app, client } = server.namespace();
  app.task("spend", async (_, task) => {
    await task.reportUsage("call-1", { tokens: 30 });
    await task.reportUsage("call-1", { tokens: 30 });
    return task.releaseUsage("refund", { tokens: 10 });
  });
  await client.setBudget("purse", { tokens: 100 });
  await client.setQuota("calls", { requests: 10, active: 2 });
  await during(app, async () => {
    const work = await client.submit("spend", null, { budgets: ["purse"], quotas: ["calls"], estimate: { tokens: 50 } });
    assert.deepEqual(await work.result(SOON), { tokens: 20 });
  });
  await until(async () => (await client.budgetUsed("purse"))["tokens"] === 20);
});

test("a finished execution can be deleted", async () => {
  const { client } = server.namespace();
  const work = await client.submit("nobody");
  await thrown(Conflict, work.delete());
  await work.cancel();
  await work.delete();
  await thrown(NotFound, work.describe());
});

test("errors have a code and say whether to repeat", async () => {
  const { client } = server.namespace();
  const refused = await thrown(InvalidRequest, client.submit("known", null, { maxAttempts: 0 }));
  assert.deepEqual([refused.code, refused.status, refused.retryable, refused.field], ["invalid_argument", 400, false, "max_attempts"]);
  const large = await thrown(InvalidRequest, client.submit("large", new Uint8Array((1 << 20) + 1)));
  assert.equal(large.code, "too_large");
});

test("a kind has one handler, and an app at least one", async () => {
  const { app } = server.namespace();
  await assert.rejects(app.start(), /has no handlers/);
  app.task("one", (value) => value);
  assert.throws(() => app.task("one", (value) => value), /two handlers/);
  assert.throws(() => server.namespace({ concurrency: 0 }), /concurrency is 0/);
});

test("a server with a token wants it", async () => {
  const token = "0123456789abcdef0123456789abcdef";
  await using guarded = await Server.start({ token });
  const stranger = new Client(guarded.url, { namespace: "n" });
  const unknown = await thrown(AccessDenied, stranger.submit("greet"));
  assert.deepEqual([unknown.code, unknown.status], ["unauthenticated", 401]);
  const { client } = guarded.namespace({ namespace: "default" });
  assert.equal(await (await client.submit("greet")).state(), "waiting");
  const body = { name: "reader", role: "reader" as const, namespaces: ["default"] };
  const { secret } = await client.http.call("POST /v1/tokens", { body });
  const reader = new Client(guarded.url, { token: secret });
  assert.equal((await gathered(reader.executions())).length, 1);
  assert.equal((await thrown(AccessDenied, reader.submit("greet"))).code, "forbidden");
});

test("no server is an error that may pass", async () => {
  const gone = await Server.start();
  const { client } = gone.namespace();
  await gone.stop();
  const error = await thrown(ServerUnreachable, client.http.once("GET /readyz", {}));
  assert.deepEqual([error.code, error.retryable], ["server_unreachable", true]);
});

/** The error of this class that a call throws. */
async function thrown<E extends FlowFabricError>(kind: new (...args: never[]) => E, call: Promise<unknown>): Promise<E> {
  const error = await call.then(
    () => assert.fail(`it did not throw a ${kind.name}`),
    (error: unknown) => error,
  );
  if (!(error instanceof kind)) throw error;
  return error;
}
