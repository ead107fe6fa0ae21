/**
 * A deployment that two different people must approve.
 *
 * It waits for them without a worker, for as long as they take. Who decides is known by the token or the link that was
 * made for them, so nobody is two people.
 *
 *     node out/approval.js              # plays everybody
 *     node out/approval.js --links      # prints two links, and waits for you
 *
 * It needs a server, such as that of `ff dev`: FF_URL, by default http://127.0.0.1:7272.
 */

import assert from "node:assert/strict";

import { App, ExecutionFailed, type Handle, PermanentError, type Task } from "flowfabric";

const DAY_MS = 86_400_000;

const app = new App();
const { client } = app;

/** Builds once, asks, and ships once if two people have said yes. */
async function deploy(version: string, task: Task): Promise<string> {
  await task.step("build", () => `${version}.tar`);
  const options = { approvers: 2, timeoutMs: DAY_MS };
  const decision = await task.waitForApproval("gate", `Deploy ${version} to production?`, options);
  if (decision.outcome === "rejected") {
    const no = decision.votes[0];
    throw new PermanentError(`${no?.by} said no: ${no?.comment ?? "no reason given"}`);
  }
  if (!decision.approved) throw new PermanentError("nobody decided");
  await task.step("ship", () => null);
  return `${version} is out, approved by ${decision.votes.map((vote) => vote.by).join(" and ")}`;
}

/** A deployment that asks. */
async function asking(version: string): Promise<Handle> {
  const work = await client.submit("deploy", version, { lane: "deploy" });
  while ((await work.state()) !== "suspended") await new Promise((resolve) => setTimeout(resolve, 20));
  console.log(`${version}: ${(await work.explain()).explanation}`);
  return work;
}

/** Prints how it ended. */
async function ended(work: Handle): Promise<void> {
  try {
    console.log(await work.result());
  } catch (error) {
    if (!(error instanceof ExecutionFailed)) throw error;
    console.log(error.message);
  }
}

async function twoApprove(): Promise<void> {
  const work = await asking("1.4");
  const [ann, bo] = [await work.token("approval", "ann"), await work.token("approval", "bo")];
  console.log("ann approves:", await client.deliverSignal(ann, "approve", { comment: "fine" }));
  console.log("ann approves once more:", await client.deliverSignal(ann, "approve", { comment: "really fine" }));
  assert.equal(await work.state(), "suspended", "one person does not count twice");
  console.log("bo approves:", await client.deliverSignal(bo, "approve", { comment: "go" }));
  await ended(work);
}

async function oneRejects(): Promise<void> {
  const work = await asking("1.5");
  const bo = await work.token("approval", "bo");
  console.log("bo rejects:", await client.deliverSignal(bo, "reject", { comment: "not on a Friday" }));
  await ended(work);
}

/** Leaves the decision to two people with a browser. */
async function byHand(): Promise<void> {
  const work = await asking("1.6");
  for (const person of ["ann", "bo"]) console.log(`for ${person}: ${await work.approvalLink("approval", person)}`);
  await ended(work);
}

app.task("deploy", deploy, { lane: "deploy" });
const running = await app.start();
if (process.argv.includes("--links")) {
  await byHand();
} else {
  await twoApprove();
  await oneRejects();
}
await running.stop();
