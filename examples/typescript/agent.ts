/**
 * An agent that calls tools, asks a person before it spends money, and survives being killed.
 *
 * The model is a script, so this runs offline and costs nothing; everything else is as with a real one. Each call of the
 * model and each booking is a durable step: it is paid for once, however often this process dies. The provider's bill is
 * a file, one line for each call.
 *
 *     node out/agent.js BILL              # asks you to run `ff approve`
 *     node out/agent.js BILL --pause      # waits for Enter after each step: kill it
 *
 * Start it again after a kill, with the same arguments, and it continues where it was. It needs a server, such as that
 * of `ff dev`: FF_URL, by default http://127.0.0.1:7272.
 */

import { appendFileSync } from "node:fs";
import { once } from "node:events";

import { App, type Handle, PermanentError, type Task } from "flowfabric";

/** How often the model is asked for one answer, at most. */
const TURNS = 8;
/** How many tokens all questions may use. */
const TOKENS = 1_000;

const PAUSE = process.argv.includes("--pause");
const BILL = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? "agent.bill";

const app = new App(undefined, { name: "agent" });

/** What the model answers: how many tokens it took, and what it wants. */
interface Said {
  tokens: number;
  wants: "search" | "book" | "answer";
  what: string;
}

/** Writes a call on the bill. The key is the same if a call is repeated, so that a real provider could tell. */
function charge(what: string, key: string): void {
  appendFileSync(BILL, `${what} ${key}\n`, { flush: true });
}

/** The model, by its script. */
function askModel(talk: string[], key: string): Said {
  charge("model", key);
  if (talk.length === 1) return { tokens: 120, wants: "search", what: "trains to Lyon on Monday" };
  if (talk.length === 2) return { tokens: 210, wants: "book", what: "the 9:04 to Lyon, for 42 EUR" };
  if (talk.at(-1)?.startsWith("booked")) return { tokens: 90, wants: "answer", what: "You are on the 9:04 to Lyon." };
  return { tokens: 80, wants: "answer", what: "I have booked nothing." };
}

/** Says what was done and, with `--pause`, waits for Enter: the moment to kill this process. */
async function done(what: string): Promise<void> {
  console.log(what);
  if (PAUSE) await once(process.stdin, "data");
}

/** Asks the model until it has an answer, and does what it asks for in between. */
async function agent(question: string, task: Task): Promise<string> {
  const talk = [question];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const model = `model-${turn}`;
    const said = await task.step(model, (key) => askModel(talk, key));
    await task.reportUsage(model, { tokens: said.tokens });
    await done(model);
    if (said.wants === "answer") return said.what;
    if (said.wants === "search") {
      talk.push(await task.step(`search-${turn}`, () => `found for ${said.what}: 9:04, 11:04`));
    } else {
      talk.push(await book(task, turn, said.what));
    }
  }
  throw new PermanentError(`the model has no answer after ${TURNS} turns`);
}

/** Books if a person agrees. While they think about it, this task holds no worker and no tokens. */
async function book(task: Task, turn: number, what: string): Promise<string> {
  const decision = await task.waitForApproval(`approval-${turn}`, `Book ${what}?`);
  if (!decision.approved) return "a person said no";
  const name = `book-${turn}`;
  await task.step(name, (key) => charge("booking", key));
  await done(name);
  return `booked ${what}`;
}

/** Says what a person has to do, until the work has ended. */
async function watch(work: Handle): Promise<void> {
  let asked = false;
  for (;;) {
    const state = await work.state();
    if (["completed", "failed", "cancelled", "expired"].includes(state)) return;
    if (state === "suspended" && !asked) console.log(`${(await work.explain()).explanation}\n  ff approve ${work.id}`);
    asked = state === "suspended";
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

app.task("agent", agent, { lane: "agent" });
await app.client.setBudget("agent", { tokens: TOKENS });
// The same key is the same question: after a kill it is not asked again.
const work = await app.client.submit("agent", "Get me to Lyon on Monday.", {
  lane: "agent",
  key: "lyon",
  budgets: ["agent"],
  estimate: { tokens: 500 },
  leaseTtlMs: 2_000,
  maxAttempts: 20,
});
const running = await app.start();
await watch(work);
console.log(await work.result());
await running.stop();
console.log(`used ${(await app.client.budgetUsed("agent"))["tokens"]} of ${TOKENS} tokens`);
// Whoever waits for Enter has nothing more to wait for.
process.stdin.destroy();
