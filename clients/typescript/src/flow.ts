/** Flows: graphs of executions that are submitted, watched and cancelled as a whole. */

import type { FlowCancelledView, FlowRequest, FlowView, NodeRequest, PublicState } from "./api.js";
import type { Client } from "./client.js";
import { Handle, type Patience } from "./handle.js";
import { encode } from "./payload.js";
import { limitsOf, policyOf, type WorkOptions } from "./policy.js";
import { optionalMillis } from "./time.js";
import { NotFound } from "./errors.js";

const PAGE = 100;

/** A node: work, and what it depends on. */
export interface NodeOptions<Name extends string = string> extends WorkOptions {
  kind: string;
  input?: unknown;
  /** The nodes that it depends on; without any it runs at once. */
  after?: readonly Name[];
  /** Whether `all` of them must complete, the default, or `any` will do. */
  join?: "all" | "any";
  /** How many of them must complete, instead of `join`. */
  quorum?: number;
  /** What it does when too few of them can complete; by default it is skipped. */
  onFailure?: "skip" | "continue" | "fail_flow";
  /** What becomes of those that it does not need any more; by default they finish. */
  rest?: "finish" | "cancel";
}

/** What is said about a flow as a whole. */
export interface FlowOptions extends Pick<WorkOptions, "lane" | "priority" | "tags" | "budgets" | "quotas" | "estimate"> {
  /** The same key with the same graph is the same flow, however often it is submitted. */
  key?: string;
  deadlineMs?: number;
  retentionMs?: number;
}

/** A graph as it is sent. */
export function flowRequest(nodes: Record<string, NodeOptions>, options: FlowOptions): FlowRequest {
  return {
    idempotency_key: options.key,
    lane: options.lane,
    priority: options.priority,
    tags: options.tags,
    limits: limitsOf(options),
    deadline_ms: optionalMillis(options.deadlineMs),
    retention_ms: optionalMillis(options.retentionMs),
    nodes: Object.entries(nodes).map(([name, node]) => nodeRequest(name, node)),
  };
}

function nodeRequest(name: string, node: NodeOptions): NodeRequest {
  const payload = encode(node.input);
  return {
    name,
    after: node.after === undefined ? undefined : [...node.after],
    join: node.join,
    quorum: node.quorum,
    on_failure: node.onFailure,
    rest: node.rest,
    kind: node.kind,
    lane: node.lane,
    priority: node.priority,
    delay_ms: optionalMillis(node.delayMs),
    start: node.start?.toISOString(),
    tags: node.tags,
    requires: node.requires,
    limits: limitsOf(node),
    policy: policyOf(node),
    input_base64: payload.base64(),
    content_type: payload.contentType,
  };
}

/** A flow. `Name` are the names of its nodes. */
export class FlowHandle<Name extends string = string> {
  readonly #nodes = new Map<string, string>();

  constructor(
    private readonly client: Client,
    readonly id: string,
  ) {}

  /** The flow, its counts, and its nodes with what they depend on: all of them, page by page. */
  async describe(): Promise<FlowView> {
    const first = await this.#page(undefined);
    for (let next = first.next; next !== null && next !== undefined; ) {
      const page = await this.#page(String(next));
      first.members.push(...page.members);
      next = page.next;
    }
    first.next = null;
    return first;
  }

  /** Its state, in a word. */
  async state(): Promise<PublicState> {
    return this.#whole.state();
  }

  /** Waits for the end of all its nodes, and gives the state in which the flow ended. */
  async wait(patience: Patience = {}): Promise<PublicState> {
    return (await this.#whole.wait(patience)).state;
  }

  /** One of its nodes: an execution like any other. */
  async node<Output = unknown>(name: Name): Promise<Handle<Output>> {
    const known = this.#nodes.get(name);
    if (known !== undefined) return this.client.handle(known);
    let cursor: string | undefined;
    do {
      const page = await this.#page(cursor);
      for (const member of page.members) if (member.execution) this.#nodes.set(member.name, member.execution.id);
      cursor = page.next === null || page.next === undefined ? undefined : String(page.next);
    } while (cursor !== undefined && !this.#nodes.has(name));
    const found = this.#nodes.get(name);
    if (found === undefined) throw new NotFound(`flow ${this.id} has no node ${name}`, { code: "not_found" });
    return this.client.handle(found);
  }

  /** Waits for the end of a node and gives its result. */
  async result<Output = unknown>(name: Name, patience: Patience = {}): Promise<Output> {
    return (await this.node<Output>(name)).result(patience);
  }

  /**
   * Cancels it: from the answer on, no worker gets a node of it. Nodes that run are stopped at once; after a grace
   * period; or, with `finish`, not at all.
   */
  async cancel(options: { graceMs?: number; finish?: boolean; reason?: string } = {}): Promise<FlowCancelledView> {
    const held = options.finish ? ("finish" as const) : undefined;
    const body = { held, grace_ms: optionalMillis(options.graceMs), reason: options.reason };
    return this.client.call("POST /v1/flows/{id}/cancel", { path: { id: this.id }, body });
  }

  /** Runs again what did not complete, after its end, and gives the number of the new run. */
  async replay(options: { run?: number } = {}): Promise<number> {
    const run = options.run ?? (await this.#whole.describe()).run;
    return (await this.client.call("POST /v1/flows/{id}/replay", { path: { id: this.id }, body: { run } })).run;
  }

  async #page(cursor: string | undefined): Promise<FlowView> {
    return this.client.call("GET /v1/flows/{id}", { path: { id: this.id }, query: { cursor, limit: PAGE } });
  }

  /** The execution that the flow as a whole is. */
  get #whole(): Handle {
    return this.client.handle(this.id);
  }
}
