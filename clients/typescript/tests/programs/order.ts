/**
 * A worker that charges and then ships. It writes each paid call to the file of its argument, and stops in the middle
 * of shipping the first time: the moment to kill it.
 */

import { appendFileSync, readFileSync } from "node:fs";

import { App } from "flowfabric";

const bill = process.argv[2] ?? "bill";
const app = new App();

/** Calls a provider that is paid for each call. */
function paid(what: string, key: string): string {
  appendFileSync(bill, `${what} ${key}\n`);
  return `${what} done`;
}

async function ship(key: string): Promise<string> {
  const first = !readFileSync(bill, "utf8").includes("ship");
  const done = paid("ship", key);
  if (first) {
    console.log("shipping");
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  }
  return done;
}

app.task("order", async (cents: number, task) => {
  const charged = await task.step("charge", (key) => paid(`charge-${cents}`, key));
  const shipped = await task.step("ship", ship);
  return [charged, shipped];
});

await app.run();
