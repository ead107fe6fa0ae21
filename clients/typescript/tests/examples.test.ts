/** The examples do what they say, also when they are killed. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import type { Client } from "flowfabric";

import { Program, serverOfTests } from "./fixture.js";

const server = await serverOfTests();

function start(client: Client, name: string, ...args: string[]): Program {
  return new Program(new URL(`./examples/${name}.js`, import.meta.url), args, client);
}

test("two people approve and one rejects", async () => {
  const example = start(server.namespace().client, "approval");
  const waits = "The execution waits for an approval, and continues in 1d without one";
  assert.deepEqual(await example.rest(), [
    `1.4: ${waits}: Deploy 1.4 to production?`,
    "ann approves: recorded",
    "ann approves once more: recorded",
    "bo approves: resumed",
    "1.4 is out, approved by ann and bo",
    `1.5: ${waits}: Deploy 1.5 to production?`,
    "bo rejects: resumed",
    "bo said no: not on a Friday",
  ]);
  assert.equal(await example.exited, 0);
});

test("people decide at their links", async () => {
  const example = start(server.namespace().client, "approval", "--links");
  await example.line();
  for (const person of ["ann", "bo"]) {
    const line = await example.line();
    assert.ok(line.startsWith(`for ${person}: `), line);
    const body = new URLSearchParams({ decision: "approve" });
    assert.equal((await fetch(line.split(" ").at(-1) ?? "", { method: "POST", body })).status, 200);
  }
  assert.equal(await example.line(), "1.6 is out, approved by ann and bo");
  assert.equal(await example.exited, 0);
});

test("a killed agent repeats no paid call", async () => {
  const { client } = server.namespace();
  const directory = await mkdtemp(join(tmpdir(), "flowfabric-"));
  const bill = join(directory, "bill");
  for (const last of ["model-0", "model-1"]) {
    const example = start(client, "agent", bill, "--pause");
    while ((await example.line()) !== last) example.enter();
    example.kill("SIGKILL");
    await example.exited;
  }
  const example = start(client, "agent", bill);
  let line = "";
  while (!line.startsWith("  ff approve ")) line = await example.line();
  const work = client.handle(line.split(" ").at(-1) ?? "");
  assert.equal(await work.approve(), "resumed");
  const printed = await example.rest();
  assert.equal(await example.exited, 0);
  assert.equal(await work.state(), "completed");
  assert.deepEqual(printed.slice(-2), ["You are on the 9:04 to Lyon.", "used 420 of 1000 tokens"]);
  const calls = (await readFile(bill, "utf8")).trim().split("\n");
  assert.deepEqual(calls.map((call) => call.split(" ")[0]), ["model", "model", "booking", "model"]);
  await rm(directory, { recursive: true });
});

test("a hundred parts are counted and added", async () => {
  const example = start(server.namespace().client, "map-reduce");
  assert.deepEqual(await example.rest(), ["the words of all parts: 4950"]);
  assert.equal(await example.exited, 0);
});
