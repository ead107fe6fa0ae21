/**
 * A hundred mappers and one reducer, which reads what they have found: a flow.
 *
 *     node out/map-reduce.js
 *
 * It needs a server, such as that of `ff dev`: FF_URL, by default http://127.0.0.1:7272.
 */

import { App, type NodeOptions } from "flowfabric";

/** How many parts there are. */
const PARTS = 100;

const app = new App(undefined, { concurrency: 8 });

app.task("count", (text: string) => text.split(" ").filter((word) => word !== "").length, { lane: "map-reduce" });

app.task(
  "sum",
  async (parts: string[], task) => {
    let sum = 0;
    for (const part of parts) sum += await task.upstream<number>(part);
    return sum;
  },
  { lane: "map-reduce" },
);

const parts = Array.from({ length: PARTS }, (_, part) => `part-${part}`);
const nodes: Record<string, NodeOptions> = {};
parts.forEach((name, part) => (nodes[name] = { kind: "count", input: "word ".repeat(part) }));
nodes["sum"] = { kind: "sum", input: parts, after: parts };

const running = await app.start();
const flow = await app.client.submitFlow(nodes, { lane: "map-reduce" });
console.log(`the words of all parts: ${await flow.result<number>("sum")}`);
await running.stop();
