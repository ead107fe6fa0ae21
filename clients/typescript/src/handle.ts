/** One execution, as those who submitted it, watch it or decide about it see it. */

import type { AttemptView, ExecutionView, ExplanationView, KeptJournal, PublicState, SignalEffect, TokenPurpose } from "./api.js";
import type { Client } from "./client.js";
import { ExecutionCancelled, ExecutionExpired, ExecutionFailed, ExecutionSkipped, FlowFabricError, WaitTimeout } from "./errors.js";
import { TIMEOUT_MS } from "./http.js";
import { encode, type Payload } from "./payload.js";
import { millis, optionalMillis } from "./time.js";
import { type Frame, frameOf, isEnd, type Signal, signalOf, type Step, stepOf } from "./views.js";

/** The longest that one call asks the server to wait. */
const WAIT_MS = 30_000;
const PAGE = 100;

/** How long to wait, and what ends the wait early. */
export interface Patience {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One execution. `Output` is what it is known to complete with. */
export class Handle<Output = unknown> {
  constructor(
    private readonly client: Client,
    readonly id: string,
  ) {}

  /** All that is known of it. */
  async describe(): Promise<ExecutionView> {
    return this.client.call("GET /v1/executions/{id}", { path: this.#path });
  }

  /** Its state, in a word. */
  async state(): Promise<PublicState> {
    return (await this.describe()).state;
  }

  /** Waits for its end, however it ends, or throws `WaitTimeout`. */
  async wait(patience: Patience = {}): Promise<ExecutionView> {
    const until = patience.timeoutMs === undefined ? Infinity : performance.now() + millis(patience.timeoutMs);
    for (;;) {
      const waitMs = millis(Math.min(WAIT_MS, until - performance.now()));
      const view = await this.client.call("GET /v1/executions/{id}", {
        path: this.#path,
        query: { wait_ms: waitMs },
        timeoutMs: TIMEOUT_MS + waitMs,
        signal: patience.signal,
      });
      if (isEnd(view.state)) return view;
      if (performance.now() >= until) {
        const why = `${this.id} is ${view.state} after ${patience.timeoutMs} ms: it keeps running`;
        throw new WaitTimeout(why, { code: "wait_timeout", retryable: true });
      }
    }
  }

  /** Waits for its end and gives its result: a JSON value, or bytes. An end without one is thrown. */
  async result(patience: Patience = {}): Promise<Output> {
    return (await this.payload(patience)).value() as Output;
  }

  /** The same, undecoded. */
  async payload(patience: Patience = {}): Promise<Payload> {
    const view = await this.wait(patience);
    const why = view.reason ?? view.state;
    switch (view.state) {
      case "failed":
        throw new ExecutionFailed(this.id, why, view.failure?.category ?? undefined);
      case "cancelled":
        throw new ExecutionCancelled(this.id, why, "cancelled");
      case "expired":
        throw new ExecutionExpired(this.id, why, "expired");
      case "skipped":
        throw new ExecutionSkipped(this.id, why, "skipped");
      default:
        return this.client.payload("GET /v1/executions/{id}/result", { path: this.#path, query: { run: view.run } });
    }
  }

  /** What it was submitted with, byte for byte. */
  async input(): Promise<Payload> {
    return this.client.payload("GET /v1/executions/{id}/input", { path: this.#path });
  }

  /** Why it is in its state, and what it waits for: `explanation` is a sentence for people. */
  async explain(): Promise<ExplanationView> {
    return this.client.call("GET /v1/executions/{id}/explain", { path: this.#path });
  }

  /** Cancels it: at once, or after a grace period in which a result still counts. */
  async cancel(options: { graceMs?: number; reason?: string } = {}): Promise<void> {
    const body = { grace_ms: optionalMillis(options.graceMs), reason: options.reason };
    await this.client.call("POST /v1/executions/{id}/cancel", { path: this.#path, body });
  }

  /**
   * Runs it again after its end, and gives the number of the new run. Steps with a result are not repeated, unless the
   * journal is dropped, or kept only up to a step. `run` is the run that has ended; by default the present one.
   */
  async replay(options: { run?: number; journal?: KeptJournal; upTo?: string } = {}): Promise<number> {
    const run = options.run ?? (await this.describe()).run;
    const body = { run, journal: options.journal, up_to: options.upTo };
    return (await this.client.call("POST /v1/executions/{id}/replay", { path: this.#path, body })).run;
  }

  /** Sends a signal to an open waitpoint, as this caller. The same signal, or key, again changes nothing. */
  async signal(waitpoint: string, name: string, payload?: unknown, options: { key?: string } = {}): Promise<SignalEffect> {
    const carried = encode(payload);
    const body = {
      waitpoint,
      name,
      idempotency_key: options.key,
      payload_base64: carried.base64(),
      content_type: carried.contentType,
    };
    return (await this.client.call("POST /v1/executions/{id}/signals", { path: this.#path, body })).effect;
  }

  /** Approves what it asks. The first decision of a person stands. */
  async approve(options: { comment?: string; waitpoint?: string } = {}): Promise<SignalEffect> {
    return this.#decide("approve", options);
  }

  /** Rejects what it asks. */
  async reject(options: { comment?: string; waitpoint?: string } = {}): Promise<SignalEffect> {
    return this.#decide("reject", options);
  }

  async #decide(name: "approve" | "reject", options: { comment?: string; waitpoint?: string }): Promise<SignalEffect> {
    const waitpoint = options.waitpoint ?? (await this.#askedAt());
    const said = encode({ approved: name === "approve", comment: options.comment });
    const body = { waitpoint, name, category: "approval", payload_base64: said.base64(), content_type: said.contentType };
    return (await this.client.call("POST /v1/executions/{id}/signals", { path: this.#path, body })).effect;
  }

  /** The one waitpoint at which it waits for an approval. */
  async #askedAt(): Promise<string> {
    const { suspension } = await this.describe();
    if (suspension?.reason !== "approval") {
      throw new FlowFabricError(`${this.id} waits for no approval`, { code: "wrong_state" });
    }
    const view = await this.client.call("GET /v1/executions/{id}/waitpoints", { path: this.#path });
    const keys = view.waitpoints.filter((one) => one.suspension === suspension.number).map((one) => one.key);
    const [key] = keys;
    if (key === undefined || keys.length !== 1) {
      throw new FlowFabricError(`${this.id} waits at ${keys.length} waitpoints: name one`, { code: "wrong_state" });
    }
    return key;
  }

  /** Ends its wait without what it waits for; `false` if it does not wait. */
  async resume(): Promise<boolean> {
    return (await this.client.call("POST /v1/executions/{id}/resume", { path: this.#path, body: {} })).resumed;
  }

  /** The keys of its open waitpoints. */
  async waitpoints(): Promise<string[]> {
    const view = await this.client.call("GET /v1/executions/{id}/waitpoints", { path: this.#path });
    return view.waitpoints.map((one) => one.key);
  }

  /** A token by which `subject`, and nobody else, answers at an open waitpoint. */
  async token(waitpoint: string, subject: string, options: { expiresMs?: number } = {}): Promise<string> {
    return (await this.#token(waitpoint, subject, "signal", options.expiresMs)).token;
  }

  /** The address of a page on which `subject` approves or rejects. */
  async approvalLink(waitpoint: string, subject: string, options: { expiresMs?: number } = {}): Promise<string> {
    return this.client.url + String((await this.#token(waitpoint, subject, "approval_link", options.expiresMs)).path);
  }

  async #token(key: string, subject: string, purpose: TokenPurpose, expiresMs: number | undefined) {
    const body = { subject, purpose, expires_ms: optionalMillis(expiresMs) };
    const path = { ...this.#path, key };
    return this.client.call("POST /v1/executions/{id}/waitpoints/{key}/token", { path, body });
  }

  /** All signals that it has received, oldest first. */
  async signals(): Promise<Signal[]> {
    const found: Signal[] = [];
    let cursor: string | undefined;
    do {
      const query = { cursor, limit: PAGE };
      const page = await this.client.call("GET /v1/executions/{id}/signals", { path: this.#path, query });
      found.push(...page.signals.map(signalOf));
      cursor = cursorOf(page.next);
    } while (cursor !== undefined);
    return found;
  }

  /** Its attempts, oldest first. */
  async attempts(): Promise<AttemptView[]> {
    const found: AttemptView[] = [];
    let cursor: string | undefined;
    do {
      const query = { cursor, limit: PAGE };
      const page = await this.client.call("GET /v1/executions/{id}/attempts", { path: this.#path, query });
      found.push(...page.attempts);
      cursor = cursorOf(page.next);
    } while (cursor !== undefined);
    return found;
  }

  /** Its journal, oldest entry first. */
  async steps(options: { visible?: boolean } = {}): Promise<Step[]> {
    const found: Step[] = [];
    let cursor: string | undefined;
    do {
      const query = { visible: options.visible, cursor, limit: PAGE };
      const page = await this.client.call("GET /v1/executions/{id}/steps", { path: this.#path, query });
      found.push(...page.steps.map(stepOf));
      cursor = cursorOf(page.next);
    } while (cursor !== undefined);
    return found;
  }

  /** The document by which it says how it is doing; `null` if there is none. */
  async summary(): Promise<unknown> {
    return (await this.client.call("GET /v1/executions/{id}/summary", { path: this.#path })).summary ?? null;
  }

  /**
   * What it streams, from a number on: until it has ended or, without `follow`, what is there. A server that comes back
   * within half a minute costs nothing but time. Frames that are not kept are skipped.
   */
  async *tail(options: { after?: number; follow?: boolean; signal?: AbortSignal } = {}): AsyncGenerator<Frame, void, undefined> {
    const { after = 0, follow = true, signal } = options;
    const waitMs = follow ? WAIT_MS : 0;
    for (let at = after; ; ) {
      const query = { from: at, wait_ms: waitMs };
      const args = { path: this.#path, query, timeoutMs: TIMEOUT_MS + waitMs, signal };
      const page = await this.client.call("GET /v1/executions/{id}/stream", args);
      for (const view of page.frames) yield frameOf(view);
      at = page.next;
      const ended = page.end !== undefined && page.end !== null;
      if (page.frames.length === 0 && (!follow || ended)) return;
    }
  }

  /** Removes it, after its end, before its retention is over. */
  async delete(): Promise<void> {
    await this.client.call("DELETE /v1/executions/{id}", { path: this.#path });
  }

  get #path(): { id: string } {
    return { id: this.id };
  }
}

/** Where the next page begins, if there is one. */
function cursorOf(next: string | number | null | undefined): string | undefined {
  return next === null || next === undefined ? undefined : String(next);
}
