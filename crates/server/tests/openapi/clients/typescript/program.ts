// Runs one execution with the types that are generated from the document.
//
// Usage: node program.js URL TOKEN

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Id = components["schemas"]["Id"];
type StateFilter = components["schemas"]["StateFilter"];
type Problem = components["schemas"]["Problem"];

const [baseUrl, token] = process.argv.slice(2);
assert(baseUrl !== undefined && token !== undefined);
const connect = (token: string) =>
  createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const client = connect(token);

/** What was answered, which must not be a problem. */
function answered<T>(answer: { data?: T; error?: Problem }): T {
  assert.equal(answer.error, undefined);
  assert(answer.data !== undefined);
  return answer.data;
}

/** The problem that was answered. */
function problem(answer: { error?: Problem }): Problem {
  assert(answer.error !== undefined);
  return answer.error;
}

async function listed(state: StateFilter[]): Promise<Id[]> {
  const page = answered(await client.GET("/v1/executions", { params: { query: { state } } }));
  return page.executions.map((execution) => execution.id);
}

const submitted = answered(
  await client.POST("/v1/executions", { body: { kind: "add", input: { numbers: [1, 2.5] } } }),
);
assert(submitted.new);
assert.equal(submitted.state, "waiting");
const execution = submitted.id;
const path = { id: execution };
assert.deepEqual(await listed(["waiting", "active"]), [execution]);
assert.deepEqual(await listed(["active", "completed"]), []);
// @ts-expect-error no execution is ever in this state
const asleep: StateFilter = "asleep";
const unknown = await client.GET("/v1/executions", { params: { query: { state: [asleep] } } });
assert.equal(problem(unknown).code, "invalid_argument");

const claim = {
  params: { path: { id: "typescript" } },
  body: { instance: "typescript-1", request: randomUUID(), retry: true },
};
const claimed = answered(await client.POST("/v1/workers/{id}/claim", claim));
assert.equal(claimed.assignments.length, 1);
const assignment = claimed.assignments[0]!;
assert.equal(assignment.execution, execution);
assert.equal(assignment.kind, "add");
assert.deepEqual(assignment.input, { numbers: [1, 2.5] });
const again = answered(await client.POST("/v1/workers/{id}/claim", claim));
assert.deepEqual(again.assignments, claimed.assignments);
const fence = assignment.fence;

const beaten = answered(
  await client.POST("/v1/workers/{id}/heartbeat", {
    params: { path: { id: "typescript" } },
    body: { leases: [{ execution, fence }] },
  }),
);
assert("leases" in beaten);
assert.deepEqual(beaten.leases.map((beat) => beat.status), ["renewed"]);
const halfway = { fence, percent: 50, message: "halfway" };
const told = await client.POST("/v1/executions/{id}/progress", { params: { path }, body: halfway });
assert.equal(told.response.status, 204);
const held = answered(await client.GET("/v1/executions/{id}", { params: { path } }));
assert.equal(held.state, "active");
assert.equal(held.progress?.percent, 50);

const done = { params: { path }, body: { fence, result: { sum: 3.5 } } };
const ended = answered(await client.POST("/v1/executions/{id}/complete", done));
assert.equal(ended.outcome, "completed");
const view = answered(await client.GET("/v1/executions/{id}", { params: { path } }));
assert.equal(view.state, "completed");
assert.deepEqual(await listed(["active", "completed"]), [execution]);
const result = answered(
  await client.GET("/v1/executions/{id}/result", { params: { path }, parseAs: "arrayBuffer" }),
);
assert.deepEqual(JSON.parse(Buffer.from(result).toString()), { sum: 3.5 });

const other = execution.slice(0, -1) + (execution.endsWith("0") ? "1" : "0");
const missing = problem(await client.GET("/v1/executions/{id}", { params: { path: { id: other } } }));
assert.deepEqual([missing.status, missing.code], [404, "not_found"]);
const late = problem(
  await client.POST("/v1/executions/{id}/complete", { params: { path }, body: { fence, result: 4 } }),
);
assert.equal(late.status, 409);
assert(!late.retryable);
const refused = problem(await connect("wrong").GET("/v1/executions/{id}", { params: { path } }));
assert.equal(refused.status, 401);

console.log(`completed ${execution}`);
