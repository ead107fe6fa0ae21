/** One claimed execution, as its worker has it: its lease, its journal, and the calls that only its holder makes. */

import { createHash } from "node:crypto";

import type { AssignmentView, Calls, EntryKind } from "./api.js";
import type { Client } from "./client.js";
import { Emitter } from "./emit.js";
import { FlowFabricError, Parked, PermanentError, RetryableError, Stopped, type StopReason } from "./errors.js";
import type { Arguments } from "./http.js";
import { encode } from "./payload.js";
import { StopCell } from "./stop.js";
import { Backoff, pause } from "./time.js";
import { type Step } from "./views.js";

/** Codes by which a holder learns that it holds nothing any more. */
const ENDS = ["stale_lease", "cancelled", "exit_conflict", "not_found"];

/** The calls that a holder makes: those that show its fence. */
export type HolderCall = {
  [R in keyof Calls]: R extends `POST /v1/executions/{id}/${string}`
    ? Calls[R]["path"] extends { id: string }
      ? "fence" extends keyof Calls[R]["body"]
        ? R
        : never
      : never
    : never;
}[keyof Calls];
/** What such a call sends besides the fence. */
export type Unfenced<R extends HolderCall> = Omit<Calls[R]["body"], "fence">;

/** A lease and what belongs to it. Every call repeats itself while the lease is kept. */
export class Hold {
  readonly id: string;
  readonly stopped = new StopCell();
  /** Whether it sleeps or waits, without this worker. */
  parked = false;
  readonly #stop = new AbortController();
  readonly #lost = new AbortController();
  readonly #used = new Set<string>();
  #found: Promise<Map<string, Step>> | undefined;
  #emitter: Emitter | undefined;
  #patching: Promise<unknown> = Promise.resolve();
  #patches: number | undefined;

  constructor(
    readonly client: Client,
    readonly assignment: AssignmentView,
    /** Whether its claim may be long ago. */
    readonly foundAgain: boolean,
  ) {
    this.id = assignment.execution;
  }

  /** Aborted when the handler should stop. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when nothing that the handler does counts any more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether there is a lease left to keep. */
  get kept(): boolean {
    return !this.parked && !this.stopped.isLost;
  }

  /** How long the attempt may run, if that is bounded. */
  timesOutInMs(): number | undefined {
    const { timeout, claimed } = this.assignment;
    return timeout ? Date.parse(timeout) - Date.parse(claimed) : undefined;
  }

  /** Tells the handler to stop. Only of `cancel_requested` a result in time still counts. */
  stop(reason: StopReason): void {
    if (this.kept && this.stopped.set(reason)) this.noticed();
  }

  /** Passes on that the cell of the stop has changed. */
  noticed(): void {
    const { reason, isLost } = this.stopped;
    if (this.parked || reason === undefined) return;
    if (isLost) this.#lost.abort();
    this.#stop.abort(new Stopped(reason));
  }

  /** Throws what ends the handler, if nothing that it does counts any more. */
  check(): void {
    if (this.parked) throw new Parked();
    if (this.stopped.isLost) throw new Stopped(this.stopped.reason ?? "lease_lost");
  }

  /** A call of the holder, repeated while the lease is kept. A refusal for what it asks is thrown. */
  async post<R extends HolderCall>(
    route: R,
    body: Unfenced<R>,
    path: Record<string, string> = {},
  ): Promise<Calls[R]["answer"]> {
    const backoff = new Backoff();
    const fenced = { path: { id: this.id, ...path }, body: { fence: this.assignment.fence, ...body } };
    const args = this.client.here(fenced as unknown as Arguments<R>);
    for (;;) {
      this.check();
      try {
        return await this.client.http.once(route, args);
      } catch (error) {
        if (!(error instanceof FlowFabricError)) throw error;
        if (ENDS.includes(error.code)) this.stop(error.code === "cancelled" ? "cancelled" : "lease_lost");
        else if (!error.retryable) throw error;
        else await pause(Math.max(backoff.pauseMs(), error.retryAfterMs ?? 0), this.lost);
      }
    }
  }

  /** A call of the handler: what is refused now is refused in every later attempt. */
  async ask<R extends HolderCall>(
    route: R,
    body: Unfenced<R>,
    path: Record<string, string> = {},
  ): Promise<Calls[R]["answer"]> {
    try {
      return await this.post(route, body, path);
    } catch (error) {
      if (!(error instanceof FlowFabricError)) throw error;
      throw new PermanentError(`${error.message} (${error.code})`, { category: error.code, cause: error });
    }
  }

  /** Changes the summary of the task, one patch after the other. */
  async summarize(patch: unknown): Promise<void> {
    const patched = this.#patching.then(async () => {
      this.#patches ??= (await this.client.call("GET /v1/executions/{id}/summary", { path: { id: this.id } })).patches;
      // The number makes a repeated patch count once.
      const body = { patch, number: this.#patches };
      this.#patches = (await this.ask("POST /v1/executions/{id}/summary", body)).next;
    });
    this.#patching = patched.catch(() => {});
    return patched;
  }

  /** What sends the frames of the task, from the first one on. */
  get emitter(): Emitter {
    this.#emitter ??= new Emitter(
      async (first, frames) => (await this.post("POST /v1/executions/{id}/frames", { first, frames })).next,
      this.assignment.fence.epoch === 1,
    );
    return this.#emitter;
  }

  /** Waits, for a bounded time, until all frames are acknowledged: they need the lease. */
  async flush(): Promise<void> {
    await this.#emitter?.flush();
  }

  /** The name of a step for the outside world. */
  key(name: string): string {
    const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
    return `${this.id}-${this.assignment.generation ?? 0}-${digest}`;
  }

  /** Uses a name, and gives what earlier attempts have left under it. */
  async enter(name: string, kind: EntryKind): Promise<Step | undefined> {
    this.check();
    if (this.#used.has(name)) {
      const why = `the handler used the name ${JSON.stringify(name)} for two of its steps, sleeps and waits; give each its own`;
      throw new PermanentError(why, { category: "step_conflict" });
    }
    this.#used.add(name);
    this.#found ??= this.assignment.steps ? this.journal() : Promise.resolve(new Map<string, Step>());
    const found = (await this.#found).get(name);
    if (found !== undefined && found.kind !== kind) {
      const why = `the journal has a ${found.kind} under the name ${JSON.stringify(name)}, which is now a ${kind}; give it another name`;
      throw new PermanentError(why, { category: "step_conflict" });
    }
    return found;
  }

  /** Frees the name of a step that has failed: it may be tried again. */
  leave(name: string): void {
    this.#used.delete(name);
  }

  /** Keeps the result of a step that has run, and gives it as every later attempt will get it. */
  async keep(name: string, result: unknown): Promise<unknown> {
    try {
      const payload = encode(result);
      const body = { step: name, result_base64: payload.base64(), content_type: payload.contentType };
      await this.post("POST /v1/executions/{id}/steps", body);
      return payload.value();
    } catch (error) {
      if (!(error instanceof FlowFabricError)) throw error;
      const why = `step ${JSON.stringify(name)} has run, and its result cannot be kept: ${error.message} (${error.code}); another attempt would run it again`;
      throw new PermanentError(why, { category: error.code, cause: error });
    }
  }

  /** Makes the call that ends the hold, and the handler with it; returns if the hold was kept. */
  async park<R extends HolderCall>(route: R, body: Unfenced<R>): Promise<void> {
    await this.flush();
    const answer = (await this.ask(route, body)) as { outcome?: unknown; exit?: unknown };
    if (answer.outcome !== undefined || (answer.exit !== undefined && answer.exit !== null)) {
      this.parked = true;
      throw new Parked();
    }
  }

  /** What earlier attempts have left, by name. */
  async journal(): Promise<Map<string, Step>> {
    const steps = await this.client.handle(this.id).steps({ visible: true });
    return new Map(steps.map((step) => [step.name, step]));
  }

  /** A failure to read what must be there. */
  missing(what: string): RetryableError {
    return new RetryableError(`${what} is not there`);
  }
}
