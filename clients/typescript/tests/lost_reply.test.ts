/** Answers that are lost: what was asked took effect, and is asked again without a second effect. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";

import { App, Client, InvalidRequest, ServerFailed } from "flowfabric";

import { during, gathered, Proxy, QUICKLY, serverOfTests, SOON, TIMEOUT_MS, until } from "./fixture.js";

const server = await serverOfTests();

test("a submit creates one execution", async () => {
  const { client } = server.namespace();
  const between = await Proxy.before(server);
  const unlucky = new Client(between.url, { namespace: client.namespace });
  between.lose("/v1/executions");
  const work = await unlucky.submit("once", 1);
  assert.deepEqual(between.lost, ["/v1/executions"]);
  assert.deepEqual((await gathered(client.executions())).map((one) => one.id), [work.id]);
  between.close();
});

test("every call of a task has one effect", async () => {
  const { client } = server.namespace();
  const between = await Proxy.before(server);
  const app = new App(between.url, { namespace: client.namespace });
  const charged: string[] = [];
  app.task("all", async (_, task) => {
    await task.step("charge", (key) => void charged.push(key));
    await task.reportUsage("call", { tokens: 5 });
    await task.emit("log", "one");
    await task.emit("log", "two");
    await task.summarize({ n: 1 });
    await task.sleep("nap", 10);
    return (await task.waitForSignal("go", "gate")).signal?.payload;
  });
  const paths = ["/claim", "/steps", "/usage", "/frames", "/summary", "/delay", "/suspend", "/complete"];
  between.lose(...paths);
  await client.setBudget("purse", { tokens: 100 });
  await during(app, async () => {
    const work = await client.submit("all", null, { leaseTtlMs: TIMEOUT_MS, budgets: ["purse"] });
    await until(async () => (await work.state()) === "suspended", "the suspension");
    await work.signal("gate", "go", "now");
    assert.equal(await work.result(SOON), "now");
    assert.deepEqual([...between.lost].sort(), [...paths].sort());
    assert.equal(charged.length, 1);
    assert.deepEqual((await work.describe()).used, { tokens: 5 });
    // The handler begins again after the sleep and after the wait, and emits again.
    const said = (await gathered(work.tail())).map((frame) => frame.text);
    assert.deepEqual(said, ["one", "two", "one", "two", "one", "two"]);
    assert.deepEqual((await work.attempts()).map((one) => one.status), ["completed"], "no lease was lost");
  });
  between.close();
});

test("a failure is reported once", async () => {
  const { client } = server.namespace();
  const between = await Proxy.before(server);
  const app = new App(between.url, { namespace: client.namespace });
  app.task("fails", (_, task) => {
    if (task.attempt === 0) throw new Error("busy");
    return task.attempt;
  });
  between.lose("/fail");
  await during(app, async () => {
    const work = await client.submit("fails", null, QUICKLY);
    assert.equal(await work.result(SOON), 1);
  });
  assert.deepEqual(between.lost, ["/fail"]);
  between.close();
});

test("only what may pass is repeated", async () => {
  const busy = problem(503, "store_busy", true);
  const passes = await answering([busy, busy, answer(200, "{}")]);
  assert.deepEqual(await call(passes.url), {});
  assert.equal(passes.served.length, 3);
  const refuses = await answering([problem(400, "invalid_argument", false)]);
  await assert.rejects(call(refuses.url), InvalidRequest);
  assert.equal(refuses.served.length, 1);
  const fails = await answering([problem(500, "internal", false)]);
  await assert.rejects(call(fails.url), ServerFailed);
  assert.equal(fails.served.length, 1);
});

test("a repetition ends with its patience", async () => {
  const { url, served } = await answering(Array.from({ length: 50 }, () => problem(503, "store_busy", true)));
  await assert.rejects(new Client(url).http.call("GET /readyz", {}, 200), ServerFailed);
  assert.ok(served.length > 1);
});

test("an answer that is no HTTP or no JSON is an error", async () => {
  for (const text of ["nonsense\r\n\r\n", answer(200, "{half")]) {
    const { url } = await answering([text]);
    const protocol = (error: unknown): boolean => error instanceof ServerFailed && error.code === "protocol_error";
    await assert.rejects(call(url), protocol);
  }
});

test("an answer that breaks off is asked for again, under a prefix too", async () => {
  const half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n[1";
  const { url, served } = await answering([half, answer(200, "[1]")]);
  assert.deepEqual(await call(`${url}/prefix`), [1]);
  assert.equal(served.length, 2);
  assert.match(served[0] ?? "", /^GET \/prefix\/readyz\?namespace=default HTTP\/1.1\r\n/);
});

test("what is no address is refused", () => {
  for (const url of ["ftp://host", "http://", "host:80", "http://host/?q=1"]) {
    assert.throws(() => new Client(url), TypeError, url);
  }
  assert.throws(() => new Client("http://host", { token: "a\r\nX-Other: b" }), TypeError);
});

function call(url: string): Promise<unknown> {
  return new Client(url, { namespace: "default" }).call("GET /readyz", {} as never);
}

/** A server that gives these answers, one after the other, each on a connection of its own. */
async function answering(answers: string[]): Promise<{ url: string; served: string[] }> {
  const served: string[] = [];
  const left = [...answers];
  const listener = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      served.push(data.toString());
      socket.end(left.shift() ?? "");
      if (left.length === 0) listener.close();
    });
  });
  listener.listen(0, "127.0.0.1").unref();
  await once(listener, "listening");
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, served };
}

function answer(status: number, body: string): string {
  const head = `content-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}`;
  return `HTTP/1.1 ${status} It is\r\n${head}\r\n\r\n${body}`;
}

function problem(status: number, code: string, retryable: boolean): string {
  return answer(status, JSON.stringify({ code, retryable, detail: "no" }));
}
