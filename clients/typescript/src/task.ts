/** A handler's view of its task. */

import type { ProgressView } from "./api.js";
import { GATHER_BYTES } from "./emit.js";
import { FlowFabricError, PermanentError, Stopped, type StopReason } from "./errors.js";
import type { Hold } from "./hold.js";
import { decode } from "./payload.js";
import { millis, optionalMillis } from "./time.js";
import { type Signal, signalOf } from "./views.js";
import { type ApprovalOptions, type Decision, decisionOf, Wait, type Waited, type WaitOptions } from "./wait.js";

const encoder = new TextEncoder();

/** A task, as its handler has it. */
export class Task {
  /** The execution. */
  readonly id: string;
  readonly kind: string;
  readonly lane: string;
  readonly namespace: string;
  readonly tags: Record<string, string>;
  readonly priority: number;
  /** 0 unless it was replayed. */
  readonly run: number;
  /** 0 for the first try. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Whether a failure of this attempt ends the run. */
  readonly isLastAttempt: boolean;
  /** What it had used when it was claimed, by dimension. */
  readonly used: Record<string, number>;
  /** What an earlier hold of this attempt reported. */
  readonly lastProgress: ProgressView | undefined;
  /** The media type of the input. */
  readonly contentType: string;
  /** Give it to other systems that must distinguish two holders. */
  readonly lease: string;
  readonly #hold: Hold;

  /** @internal */
  constructor(hold: Hold) {
    this.#hold = hold;
    const view = hold.assignment;
    this.id = view.execution;
    this.kind = view.kind;
    this.lane = view.lane;
    this.namespace = view.namespace;
    this.tags = view.tags;
    this.priority = view.priority ?? 0;
    this.run = view.run;
    this.attempt = view.fence.attempt;
    this.maxAttempts = view.max_attempts ?? 1;
    this.isLastAttempt = view.last_attempt ?? false;
    this.used = view.used ?? {};
    this.lastProgress = view.progress ?? undefined;
    this.contentType = view.content_type;
    this.lease = view.fence.lease;
  }

  /** What it was submitted with: a JSON value, or bytes. */
  get input(): unknown {
    const { input, input_base64, content_type } = this.#hold.assignment;
    return decode(input, input_base64, content_type);
  }

  /**
   * Aborted when the handler should stop: give it to `fetch`, to timers, to whatever takes long. The reason is a
   * `Stopped`. A handler that blocks the event loop reads `stopping` instead.
   */
  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  /** Whether the handler should stop; true at once, also in a handler that blocks the event loop. */
  get stopping(): boolean {
    return this.stopReason !== undefined;
  }

  /** Why the handler should stop, if it should. */
  get stopReason(): StopReason | undefined {
    return this.#hold.stopped.reason;
  }

  /** Throws `Stopped` if the handler should stop: call it in loops that make no other call of the task. */
  check(): void {
    this.#hold.check();
    if (this.stopReason !== undefined) throw new Stopped(this.stopReason);
  }

  /**
   * A key that names a step to the outside world. It is the same in every attempt: if the process dies after a service
   * has done its work and before the result is kept, the step runs again, with the same key, and a service with
   * idempotency keys then does its work once.
   */
  key(name: string): string {
    return this.#hold.key(name);
  }

  /**
   * Does something once: calls `run`, with the key of the step, unless an earlier attempt has, and keeps its result for
   * every later one.
   *
   * Names are unique within a handler; loops number them. A failed step is not kept. The result is a JSON value or
   * bytes, at most 1 MiB; what is returned is always what was kept, so a `Date` comes back as a text.
   */
  step<T>(name: string, run: (key: string) => T | Promise<T>): Promise<T> {
    return kept(this.#step(name, run));
  }

  async #step<T>(name: string, run: (key: string) => T | Promise<T>): Promise<T> {
    const found = await this.#hold.enter(name, "step");
    if (found !== undefined) return found.result as T;
    let result: T;
    try {
      result = await run(this.key(name));
    } catch (error) {
      this.#hold.leave(name);
      throw error;
    }
    return (await this.#hold.keep(name, result)) as T;
  }

  /**
   * Sleeps, for seconds or months, without holding the worker. The handler ends here, and runs again from its beginning
   * when the time has come; the sleep is then over, in this and every later attempt. So put what comes before it into
   * steps.
   */
  sleep(name: string, durationMs: number): Promise<void> {
    return kept(this.#sleep(name, durationMs));
  }

  async #sleep(name: string, durationMs: number): Promise<void> {
    const found = await this.#hold.enter(name, "sleep");
    const body = { delay_ms: millis(durationMs), step: name };
    if (found === undefined) await this.#hold.park("POST /v1/executions/{id}/delay", body);
  }

  /**
   * Waits for signals, without holding the worker, as `sleep` does. A text is the key of one waitpoint. How it ended is
   * kept under `name`, and returned in every later attempt.
   */
  waitForSignal(name: string, wait: Wait | string, options: WaitOptions = {}): Promise<Waited> {
    return kept(this.#wait(name, typeof wait === "string" ? Wait.at(wait) : wait, options));
  }

  async #wait(name: string, wait: Wait, options: WaitOptions): Promise<Waited> {
    let entry = await this.#hold.enter(name, "wait");
    if (entry === undefined) {
      await this.#hold.park("POST /v1/executions/{id}/suspend", {
        waitpoints: wait.waitpoints.map((key) => ({ key })),
        condition: wait.condition,
        timeout_ms: optionalMillis(options.timeoutMs),
        on_timeout: options.onTimeout ?? "resume",
        reason: options.reason ?? "signal",
        message: options.message,
        step: name,
        keep_if_satisfied: true,
      });
      // What it waits for had come, and the journal has that.
      entry = (await this.#hold.journal()).get(name);
    }
    if (entry === undefined) throw this.#hold.missing(`the end of ${JSON.stringify(name)}`);
    const signals: Signal[] = [];
    for (const number of entry.view.signals ?? []) signals.push(await this.#signal(number));
    return { signals, signal: signals[0], timedOut: entry.view.timed_out ?? false };
  }

  async #signal(number: number): Promise<Signal> {
    const query = { cursor: String(number), limit: 1 };
    const page = await this.#hold.client.call("GET /v1/executions/{id}/signals", { path: { id: this.id }, query });
    const view = page.signals[0];
    if (view === undefined || view.number !== number) throw this.#hold.missing(`signal ${number}`);
    return signalOf(view);
  }

  /**
   * Asks people, and waits for their decision, without holding the worker. So many different people must say yes; one
   * no is enough for a no. They answer with `ff approve` and `ff reject`, at a link, on the dashboard, or by
   * `handle.approve`.
   */
  waitForApproval(name: string, question: string, options: ApprovalOptions = {}): Promise<Decision> {
    const { approvers = 1, timeoutMs, waitpoint = "approval" } = options;
    const yes = Wait.at(waitpoint, { named: "approve", sources: approvers });
    const wait = Wait.any(yes, Wait.at(waitpoint, { named: "reject" }));
    return kept(this.#wait(name, wait, { timeoutMs, reason: "approval", message: question }).then(decisionOf));
  }

  /**
   * Opens a waitpoint before the task waits for it, and gives a token that sends signals there; `undefined` if the
   * server signs none. A waitpoint that is open stays as it is.
   */
  openWaitpoint(key: string, options: { timeoutMs?: number } = {}): Promise<string | undefined> {
    const body = { waitpoint: { key, timeout_ms: optionalMillis(options.timeoutMs) } };
    return kept(this.#hold.ask("POST /v1/executions/{id}/waitpoints", body).then((opened) => opened.token ?? undefined));
  }

  /** Closes a waitpoint, for ever. */
  closeWaitpoint(key: string): Promise<void> {
    return kept(this.#hold.ask("POST /v1/executions/{id}/waitpoints/{key}/close", {}, { key }));
  }

  /** Of a node of a flow: waits for nothing, and gives the result of a node that it depends on. */
  upstream<T = unknown>(node: string): Promise<T> {
    return kept(this.#upstream(node) as Promise<T>);
  }

  async #upstream(node: string): Promise<unknown> {
    this.#hold.check();
    const path = { id: this.id, node };
    try {
      return (await this.#hold.client.payload("GET /v1/executions/{id}/upstreams/{node}", { path })).value();
    } catch (error) {
      if (!(error instanceof FlowFabricError) || error.retryable) throw error;
      throw new PermanentError(`${error.message} (${error.code})`, { category: error.code, cause: error });
    }
  }

  /** Reports how far the task is. */
  progress(percent?: number, message?: string): Promise<void> {
    return kept(this.#hold.ask("POST /v1/executions/{id}/progress", { percent, message }));
  }

  /**
   * Adds to what the task has used, and charges it to its budgets; answers all that it has used. `key` names this
   * usage: it counts once, however often it is reported.
   */
  reportUsage(key: string, amounts: Record<string, number>): Promise<Record<string, number>> {
    return kept(this.#hold.ask("POST /v1/executions/{id}/usage", { key, amounts }).then((answer) => answer.used));
  }

  /** Takes back from what was reported, under a key of its own; answers what is left. */
  releaseUsage(key: string, amounts: Record<string, number>): Promise<Record<string, number>> {
    const body = { key, amounts, release: true };
    return kept(this.#hold.ask("POST /v1/executions/{id}/usage", body).then((answer) => answer.used));
  }

  /** Changes the summary of the task by a JSON Merge Patch (RFC 7396). */
  summarize(patch: unknown): Promise<void> {
    return kept(this.#hold.summarize(patch));
  }

  /** Adds a frame to what the task streams. Frames are gathered for up to 20 ms and sent together. */
  emit(type: string, data: string | Uint8Array): Promise<void> {
    return kept(this.#add(type, data, false));
  }

  /** For what a model says: what is written within a moment becomes one frame. */
  stream(type = "token"): TokenStream {
    return new TokenStream((data) => kept(this.#add(type, data, true)));
  }

  async #add(type: string, data: string | Uint8Array, grows: boolean): Promise<void> {
    this.#hold.check();
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    if (!grows) return this.#hold.emitter.add(type, bytes, false);
    for (let at = 0; at < bytes.length; at += GATHER_BYTES) {
      await this.#hold.emitter.add(type, bytes.subarray(at, at + GATHER_BYTES), true);
    }
  }
}

/** What is written within a moment becomes one frame. */
export class TokenStream {
  /** @internal */
  constructor(private readonly add: (data: string | Uint8Array) => Promise<void>) {}

  /** Adds to the stream. */
  write(text: string | Uint8Array): Promise<void> {
    return this.add(text);
  }
}

/** A promise that a handler may leave alone: what it fails with does not end the process. */
function kept<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
