/** The producer: submits work and flows, and finds executions. */

import { randomBytes } from "node:crypto";

import type { Calls, ListPageView, PublicState, SignalEffect, SuspendReason, WorkerView } from "./api.js";
import { FlowHandle, flowRequest, type FlowOptions, type NodeOptions } from "./flow.js";
import { Handle } from "./handle.js";
import { type Arguments, Http, type Route } from "./http.js";
import { encode, type Payload } from "./payload.js";
import { limitsOf, policyOf, type WorkOptions } from "./policy.js";
import { millis, optionalMillis } from "./time.js";

const PAGE = 100;

/** Where the server is. What is not given is that of `ff`: `FF_URL`, `FF_TOKEN`, `FF_NAMESPACE` and `FF_CA`. */
export interface ClientOptions {
  token?: string | undefined;
  namespace?: string | undefined;
  /** A file of certificates of authorities to trust instead of the system's. */
  ca?: string | undefined;
}

/** How work is submitted. */
export interface SubmitOptions extends WorkOptions {
  /** The same key with the same work is the same execution, however often it is submitted. */
  key?: string;
}

/** Which executions. */
export interface Filter {
  state?: PublicState[];
  lane?: string;
  kind?: string;
  /** What suspended executions wait for. */
  reason?: SuspendReason;
  tags?: Record<string, string>;
}

export type Listed = ListPageView["executions"][number];

/** Calls a server. */
export class Client {
  readonly url: string;
  readonly namespace: string;
  /** @internal */
  readonly http: Http;

  constructor(url?: string, options: ClientOptions = {}) {
    const { FF_URL, FF_NAMESPACE, FF_TOKEN, FF_CA } = process.env;
    this.url = (url || FF_URL || "http://127.0.0.1:7272").replace(/\/+$/, "");
    this.namespace = options.namespace || FF_NAMESPACE || "default";
    this.http = new Http({ url: this.url, token: options.token || FF_TOKEN || undefined, ca: options.ca || FF_CA || undefined });
  }

  /** Closes the connections. A program that ends needs no call of this. */
  close(): void {
    this.http.close();
  }

  /** Any call of the API, in this namespace. It is repeated while it fails in a way that may pass. */
  async call<R extends Route>(route: R, args: Arguments<R>): Promise<Calls[R]["answer"]> {
    return this.http.call(route, this.here(args));
  }

  /** A call whose answer is bytes of any type. @internal */
  async payload<R extends Route>(route: R, args: Arguments<R>): Promise<Payload> {
    return this.http.payload(route, this.here(args));
  }

  /** The arguments of a call in this namespace. @internal */
  here<R extends Route>(args: Arguments<R>): Arguments<R> {
    const query = (args as { query?: object }).query;
    return { ...args, query: { namespace: this.namespace, ...query } };
  }

  /**
   * Submits work. Once this returns, it is kept and offered to workers until it ends.
   *
   * The input is a JSON value, a `Uint8Array`, or a `Payload`. Without a `key`, the call has an id of its own, so that
   * it creates one execution even if it is repeated after a lost answer.
   */
  async submit<Output = unknown>(kind: string, input?: unknown, options: SubmitOptions = {}): Promise<Handle<Output>> {
    const payload = encode(input);
    const body = {
      id: options.key === undefined ? newId() : undefined,
      idempotency_key: options.key,
      kind,
      lane: options.lane,
      priority: options.priority,
      delay_ms: optionalMillis(options.delayMs),
      start: options.start?.toISOString(),
      tags: options.tags,
      requires: options.requires,
      limits: limitsOf(options),
      policy: policyOf(options),
      input_base64: payload.base64(),
      content_type: payload.contentType,
    };
    return this.handle((await this.call("POST /v1/executions", { body })).id);
  }

  /** The execution of this id; nothing is called. */
  handle<Output = unknown>(id: string): Handle<Output> {
    return new Handle(this, id);
  }

  /**
   * Submits a graph of executions as a whole, by the names of its nodes. Each runs the moment those that it depends on
   * have completed, and reads their results with `task.upstream`.
   */
  async submitFlow<Name extends string>(
    nodes: Record<Name, NodeOptions<NoInfer<Name>>>,
    options: FlowOptions = {},
  ): Promise<FlowHandle<Name>> {
    const id = options.key === undefined ? newId() : undefined;
    const answer = await this.call("POST /v1/flows", { body: { id, ...flowRequest(nodes, options) } });
    return this.flow(answer.id);
  }

  /** The flow of this id; nothing is called. */
  flow<Name extends string = string>(id: string): FlowHandle<Name> {
    return new FlowHandle(this, id);
  }

  /** The executions that match, newest first, page by page. */
  async *executions(filter: Filter = {}): AsyncGenerator<Listed, void, undefined> {
    const { state, lane, kind, reason } = filter;
    const tags = tagsOf(filter.tags ?? {});
    let cursor: string | undefined;
    do {
      const query = { state, lane, kind, reason, tags, cursor, limit: PAGE };
      const page = await this.call("GET /v1/executions", { query });
      yield* page.executions;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** The registered workers. */
  async workers(): Promise<WorkerView[]> {
    const found: WorkerView[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.call("GET /v1/workers", { query: { cursor, limit: PAGE } });
      found.push(...page.workers);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    return found;
  }

  /** Sends a signal by the token of a waitpoint, as the one whom the token was made for. */
  async deliverSignal(token: string, name: string, payload?: unknown): Promise<SignalEffect> {
    const carried = encode(payload);
    const body = { token, name, payload_base64: carried.base64(), content_type: carried.contentType };
    return (await this.http.call("POST /v1/signals", { body })).effect;
  }

  /** Makes a budget, or changes its hard limits, by dimension. */
  async setBudget(
    name: string,
    limits: Record<string, number>,
    options: { periodMs?: number; cancelOnBreach?: boolean } = {},
  ): Promise<void> {
    const dimensions = Object.fromEntries(Object.entries(limits).map(([dimension, hard]) => [dimension, { hard }]));
    const on_breach = options.cancelOnBreach ? ("cancel" as const) : ("block" as const);
    const body = { dimensions, on_breach, period_ms: optionalMillis(options.periodMs) };
    await this.call("PUT /v1/budgets/{name}", { path: { name }, body });
  }

  /** What was used of a budget in this period, by dimension. */
  async budgetUsed(name: string): Promise<Record<string, number>> {
    const view = await this.call("GET /v1/budgets/{name}", { path: { name } });
    return Object.fromEntries(Object.entries(view.dimensions).map(([dimension, of]) => [dimension, of.used]));
  }

  /** Makes a quota, or changes it: how many start in any window, and how many run at once. */
  async setQuota(name: string, quota: { requests?: number; windowMs?: number; active?: number }): Promise<void> {
    const { requests: max_requests, windowMs = 60_000, active: max_active } = quota;
    await this.call("PUT /v1/quotas/{name}", { path: { name }, body: { max_requests, window_ms: millis(windowMs), max_active } });
  }
}

/** The id of a new execution: a UUIDv7. */
function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const text = bytes.toString("hex");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}

/** Tags as a query has them. */
function tagsOf(tags: Record<string, string>): string | undefined {
  const pairs = Object.entries(tags).map(([key, value]) => `${key}=${value.replace(/[\\,]/g, "\\$&")}`);
  return pairs.length === 0 ? undefined : pairs.join(",");
}
