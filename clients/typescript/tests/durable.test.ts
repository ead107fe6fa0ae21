/** What is kept over attempts and kills: steps, sleeps, waits for signals and people. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ExecutionFailed, type Handle, Parked, RetryableError, Wait } from "flowfabric";

import { during, gathered, Happening, Program, QUICKLY, serverOfTests, SOON, until } from "./fixture.js";

const server = await serverOfTests();

async function suspended(work: Handle): Promise<void> {
  await until(async () => (await work.state()) === "suspended", "the suspension");
}

async function categoryOf(work: Handle): Promise<string | undefined> {
  const failed: unknown = await work.result(SOON).catch((error: unknown) => error);
  assert.ok(failed instanceof ExecutionFailed, String(failed));
  return failed.category;
}

test("a step runs once over all attempts", async () => {
  const { app, client } = server.namespace();
  const calls: string[] = [];
  app.task("order", async (cents: number, task) => {
    const receipt = await task.step("charge", async (key) => {
      calls.push(key);
      return cents;
    });
    if (task.attempt < 2) throw new RetryableError("not yet");
    return [receipt, task.key("charge")];
  });
  await during(app, async () => {
    const work = await client.submit<[number, string]>("order", 500, QUICKLY);
    const [receipt, key] = await work.result(SOON);
    assert.deepEqual([receipt, calls], [500, [key]]);
    assert.ok(key.startsWith(work.id));
    assert.deepEqual((await work.steps()).map((step) => [step.name, step.result]), [["charge", 500]]);
  });
});

test("what a step returns is what was kept", async () => {
  const { app, client } = server.namespace();
  app.task("kinds", async (_, task) => {
    const date: unknown = await task.step("date", () => new Date(0));
    const data = await task.step("data", () => Uint8Array.of(255, 0));
    const none = await task.step("none", () => undefined);
    if (task.attempt === 0) throw new RetryableError("once more");
    return [date, [...data], none];
  });
  await during(app, async () => {
    const work = await client.submit("kinds", null, QUICKLY);
    assert.deepEqual(await work.result(SOON), ["1970-01-01T00:00:00.000Z", [255, 0], null]);
  });
});

test("a failed step is not kept and may be tried again", async () => {
  const { app, client } = server.namespace();
  let tries = 0;
  app.task("flaky", async (_, task) => {
    const call = (): number => {
      tries += 1;
      if (tries === 1) throw new Error("busy");
      return tries;
    };
    return task.step("call", call).catch(() => task.step("call", call));
  });
  await during(app, async () => {
    assert.equal(await (await client.submit("flaky")).result(SOON), 2);
  });
});

test("a name is used once", async () => {
  const { app, client } = server.namespace();
  app.task("twice", async (_, task) => {
    await task.step("same", () => 1);
    await task.step("same", () => 2);
  });
  app.task("changed", async (_, task) => {
    if (task.attempt > 0) await task.sleep("same", 1);
    await task.step("same", () => 1);
    throw new RetryableError("once more");
  });
  await during(app, async () => {
    for (const kind of ["twice", "changed"]) {
      assert.equal(await categoryOf(await client.submit(kind, null, QUICKLY)), "step_conflict");
    }
  });
});

test("a result of a step that cannot be kept fails the task for good", async () => {
  const { app, client } = server.namespace();
  let runs = 0;
  app.task("large", async (_, task) => {
    runs += 1;
    await task.step("read", () => "x".repeat(1 << 20));
  });
  await during(app, async () => {
    assert.equal(await categoryOf(await client.submit("large", null, QUICKLY)), "too_large");
  });
  assert.equal(runs, 1);
});

test("a replay repeats what its journal hides", async () => {
  const { app, client } = server.namespace();
  const calls: string[] = [];
  app.task("pair", async (_, task) => {
    for (const name of ["first", "second"]) await task.step(name, (key) => void calls.push(key));
    return task.run;
  });
  await during(app, async () => {
    const work = await client.submit("pair");
    await work.wait(SOON);
    await work.replay();
    await work.wait(SOON);
    assert.equal(calls.length, 2, "a replay finds the journal");
    await work.replay({ upTo: "first" });
    assert.equal(await work.result(SOON), 2);
  });
  assert.equal(new Set(calls).size, 3, "what is repeated has a new key");
});

test("a worker killed in a step repeats no paid call", async () => {
  const { client } = server.namespace();
  const directory = await mkdtemp(join(tmpdir(), "flowfabric-"));
  const bill = join(directory, "bill");
  const program = new URL("./programs/order.js", import.meta.url);
  const work = await client.submit("order", 500, { leaseTtlMs: 1_000 });
  const first = new Program(program, [bill], client);
  assert.equal(await first.line(), "shipping");
  first.kill("SIGKILL");
  await first.exited;
  const second = new Program(program, [bill], client);
  assert.deepEqual(await work.result(SOON), ["charge-500 done", "ship done"]);
  second.kill("SIGTERM");
  assert.equal(await second.exited, 0);
  const calls = (await readFile(bill, "utf8")).trim().split("\n");
  assert.deepEqual(calls.map((call) => call.split(" ")[0]), ["charge-500", "ship", "ship"]);
  assert.equal(calls[1], calls[2], "the step that was cut runs again under the same key");
  assert.deepEqual((await work.attempts()).map((one) => one.status), ["lease_lost", "completed"]);
  await rm(directory, { recursive: true });
});

test("a sleep leaves the worker", async () => {
  const { app, client } = server.namespace();
  const runs: string[] = [];
  app.task("nap", async (ms: number, task) => {
    runs.push("began");
    await task.sleep("nap", ms);
    await task.sleep("other nap", 10);
    return task.attempt;
  });
  app.task("quick", () => "quick");
  await during(app, async () => {
    const long = await client.submit("nap", 3_600_000);
    await until(async () => (await long.state()) === "delayed");
    assert.equal(await (await client.submit("quick")).result(SOON), "quick");
    runs.length = 0;
    assert.equal(await (await client.submit("nap", 50)).result(SOON), 0, "a sleep costs no attempt");
    assert.deepEqual(runs, ["began", "began", "began"]);
    await long.cancel();
  });
});

test("a handler that catches everything still parks", async () => {
  const { app, client } = server.namespace();
  const seen: unknown[] = [];
  app.task("stubborn", async (_, task) => {
    try {
      await task.sleep("nap", 50);
    } catch (parked) {
      seen.push(parked instanceof Parked);
      await task.step("late", () => seen.push("it must not run")).catch(() => {});
      return "it must not count";
    }
    return "slept";
  });
  await during(app, async () => {
    assert.equal(await (await client.submit("stubborn")).result(SOON), "slept");
  });
  assert.deepEqual(seen, [true]);
});

test("a promise that a handler leaves alone ends nothing", async () => {
  const { app, client } = server.namespace();
  app.task("forgetful", async (_, task) => {
    void task.step("forgotten", async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error("nobody listens");
    });
    await task.sleep("nap", 30);
    return "slept";
  });
  await during(app, async () => {
    assert.equal(await (await client.submit("forgetful")).result(SOON), "slept");
  });
});

test("a signal ends a wait and its payload is returned", async () => {
  const { app, client } = server.namespace();
  app.task("paid", async (_, task) => {
    const { signal, timedOut } = await task.waitForSignal("paid", Wait.at("payment", { named: "paid" }));
    return [signal?.payload, signal?.name, timedOut];
  });
  await during(app, async () => {
    const work = await client.submit("paid");
    await suspended(work);
    assert.equal(await work.signal("payment", "other"), "recorded");
    assert.equal(await work.signal("payment", "paid", { cents: 500 }), "resumed");
    assert.deepEqual(await work.result(SOON), [{ cents: 500 }, "paid", false]);
  });
});

test("bytes come with a signal", async () => {
  const { app, client } = server.namespace();
  app.task("bytes", async (_, task) => (await task.waitForSignal("data", "door")).signal?.payload);
  await during(app, async () => {
    const work = await client.submit("bytes");
    await suspended(work);
    assert.equal(await work.signal("door", "data", Uint8Array.of(255, 0), { key: "k" }), "resumed");
    assert.deepEqual(await work.result(SOON), Uint8Array.of(255, 0));
  });
});

test("a signal that came early is not missed", async () => {
  const { app, client } = server.namespace();
  const [opened, go] = [new Happening(), new Happening()];
  app.task("early", async (_, task) => {
    if (!opened.happened) {
      await task.openWaitpoint("door");
      opened.set();
      await go.promise;
    }
    return (await task.waitForSignal("knock", "door")).signal?.payload;
  });
  await during(app, async () => {
    const work = await client.submit("early");
    await opened.promise;
    assert.deepEqual(await work.waitpoints(), ["door"]);
    assert.equal(await work.signal("door", "knock", 7), "recorded");
    go.set();
    assert.equal(await work.result(SOON), 7);
  });
});

test("a callback answers by token", async () => {
  const { app, client } = server.namespace();
  let token = "";
  app.task("callback", async (_, task) => {
    token ||= (await task.openWaitpoint("done")) ?? "";
    return (await task.waitForSignal("answer", "done", { reason: "callback" })).signal?.payload;
  });
  await during(app, async () => {
    const work = await client.submit("callback");
    await suspended(work);
    assert.equal(await client.deliverSignal(token, "done", "42"), "resumed");
    assert.equal(await work.result(SOON), "42");
  });
});

test("a wait ends with its time and by an operator", async () => {
  const { app, client } = server.namespace();
  app.task("wait", async (ms: number, task) => {
    const both = Wait.all(Wait.at("a"), Wait.at("b"));
    const { timedOut, signals } = await task.waitForSignal("never", both, { timeoutMs: ms });
    return [timedOut, signals.length];
  });
  app.task("fails", (_, task) => task.waitForSignal("never", "a", { timeoutMs: 50, onTimeout: "fail" }));
  await during(app, async () => {
    assert.deepEqual(await (await client.submit("wait", 50)).result(SOON), [true, 0]);
    const work = await client.submit("wait", 3_600_000);
    await suspended(work);
    assert.equal(await work.resume(), true);
    assert.deepEqual(await work.result(SOON), [false, 0]);
    await assert.rejects((await client.submit("fails")).result(SOON), ExecutionFailed);
  });
});

test("people approve and reject", async () => {
  const { app, client } = server.namespace();
  app.task("deploy", async (version: string, task) => {
    const { outcome, votes } = await task.waitForApproval("gate", `Deploy ${version}?`, { approvers: 2 });
    return [outcome, votes.map((vote) => [vote.by, vote.comment])];
  });
  await during(app, async () => {
    const work = await client.submit("deploy", "1.4");
    await suspended(work);
    assert.match((await work.explain()).explanation, /Deploy 1.4\?/);
    const listed = await gathered(client.executions({ state: ["suspended"], reason: "approval" }));
    assert.deepEqual(listed.map((one) => one.id), [work.id]);
    const ann = await work.token("approval", "ann");
    assert.equal(await client.deliverSignal(ann, "approve", { comment: "fine" }), "recorded");
    assert.equal(await client.deliverSignal(ann, "approve", { comment: "really" }), "recorded");
    assert.equal(await work.state(), "suspended", "one person does not count twice");
    assert.match(await work.approvalLink("approval", "bo"), /\/approve\//);
    assert.equal(await work.approve({ comment: "go" }), "resumed");
    const [outcome, votes] = (await work.result(SOON)) as [string, unknown[]];
    assert.deepEqual([outcome, votes[0], votes.at(-1)], ["approved", ["ann", "fine"], ["local", "go"]]);
    const other = await client.submit("deploy", "1.5");
    await suspended(other);
    assert.equal(await other.reject({ comment: "not on a Friday" }), "resumed");
    assert.deepEqual(await other.result(SOON), ["rejected", [["local", "not on a Friday"]]]);
  });
});

test("an approval that nobody gives times out", async () => {
  const { app, client } = server.namespace();
  app.task("ask", async (_, task) => (await task.waitForApproval("gate", "Well?", { timeoutMs: 50 })).outcome);
  await during(app, async () => {
    assert.equal(await (await client.submit("ask")).result(SOON), "timed_out");
  });
});

test("steps run at once", async () => {
  const { app, client } = server.namespace();
  app.task("both", async (_, task) => {
    const steps = Array.from({ length: 20 }, (_, n) => task.step(`double-${n}`, async () => n * 2));
    await task.progress(1, "all of them have begun");
    return Promise.all(steps);
  });
  await during(app, async () => {
    const work = await client.submit("both");
    assert.deepEqual(await work.result(SOON), Array.from({ length: 20 }, (_, n) => n * 2));
    assert.equal((await work.steps()).length, 20);
  });
});

test("what is parked by one part of a handler ends all of it", async () => {
  const { app, client } = server.namespace();
  app.task("gather", async (_, task) => {
    await Promise.all([task.sleep("nap", 50), Promise.resolve()]);
    return "slept";
  });
  await during(app, async () => {
    assert.equal(await (await client.submit("gather")).result(SOON), "slept");
  });
});
