/**
 * The loop of a worker: claims for its free slots, runs handlers, reports how they ended, and drains. Leases are renewed
 * on a thread of their own.
 */

import { randomUUID } from "node:crypto";

import type { RegisterRequest } from "./api.js";
import type { Client } from "./client.js";
import { FlowFabricError, RetryableError, ServerFailed, Stopped } from "./errors.js";
import { Heartbeat } from "./heartbeat.js";
import { Hold } from "./hold.js";
import { type Arguments, type Place, type Route, TIMEOUT_MS } from "./http.js";
import { log, said } from "./log.js";
import { handBack, report, type Ended } from "./report.js";
import { Task } from "./task.js";
import { Backoff, pause } from "./time.js";

/** How long a claim waits for work: of one lane, of the next of several, and of a worker that ends when there is none. */
const POLL_MS = 20_000;
const POLL_SEVERAL_MS = 1_000;
const POLL_IDLE_MS = 500;
const CLAIM = 256;
/** How long a registered worker may be silent. */
const REGISTRATION_MS = 60_000;
/** How long handlers have to end once their tasks were handed back. */
const UNWIND_MS = 2_000;
/** A loop that was blocked for so long may have read an answer late. */
const BLOCKED_MS = 250;

/** A function that handles one kind of work. */
export type Handler = (input: never, task: Task) => unknown;

/** How a worker works. */
export interface Settings {
  place: Place;
  handlers: ReadonlyMap<string, Handler>;
  lanes: readonly string[];
  name: string;
  instance: string;
  capabilities: readonly string[];
  concurrency: number;
  drainMs: number;
  untilIdle: boolean;
}

/** One run of a worker. */
export class Worker {
  /** Whether handlers still ran when it ended. */
  abandoned = false;
  readonly #registration: RegisterRequest & { instance: string; session: string; ttl_ms: number };
  readonly #running = new Set<Hold>();
  readonly #draining = new AbortController();
  readonly #atOnce = new AbortController();
  #heartbeat: Heartbeat | undefined;
  #fault: Error | undefined;
  #wake = new AbortController();
  #turn = 0;
  #blockedAt = 0;

  constructor(
    private readonly settings: Settings,
    private readonly client: Client,
  ) {
    const { instance, lanes, capabilities } = settings;
    const session = randomUUID();
    this.#registration = { instance, session, lanes: [...lanes], capabilities: [...capabilities], ttl_ms: REGISTRATION_MS };
  }

  /** Claims nothing more, and lets tasks finish for the drain time; called again, hands them back at once. */
  stop(): void {
    (this.#draining.signal.aborted ? this.#atOnce : this.#draining).abort();
    this.#happened();
  }

  /** Works until it is told to stop, or a claim is refused in a way that repeating does not change. */
  async work(connected: () => void): Promise<void> {
    const registered = await this.#register();
    const { place, name: worker } = this.settings;
    const settings = { place, namespace: this.client.namespace, worker, registration: this.#registration, registered };
    this.#heartbeat = new Heartbeat(settings, (fault) => {
      this.#fault = fault;
      this.#running.forEach((hold) => hold.stop("lease_lost"));
      this.stop();
    });
    const watch = this.#watchLoop();
    connected();
    try {
      await this.#dispatch();
    } finally {
      await this.#drain();
      clearInterval(watch);
      await this.#heartbeat.end();
      const { instance, session } = this.#registration;
      await this.#callGently("POST /v1/workers/{id}/disconnect", { path: this.#path, body: { instance, session } });
    }
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #register(): Promise<boolean> {
    try {
      await this.#once("POST /v1/workers/{id}/register", { path: this.#path, body: this.#registration });
      return true;
    } catch (error) {
      if (!(error instanceof FlowFabricError) || !error.retryable) throw error;
      log(`the worker is not registered; trying again: ${said(error)}`);
      return false;
    }
  }

  /** Notes when a handler has blocked the loop. */
  #watchLoop(): NodeJS.Timeout {
    let last = performance.now();
    return setInterval(() => {
      const now = performance.now();
      if (now - last > 2 * BLOCKED_MS) this.#blockedAt = now;
      last = now;
    }, BLOCKED_MS);
  }

  async #dispatch(): Promise<void> {
    const draining = this.#draining.signal;
    while (!draining.aborted) {
      const free = this.settings.concurrency - this.#running.size;
      if (free <= 0) {
        await this.#news();
        continue;
      }
      const idle = this.#running.size === 0;
      const claimed = await this.#claim(Math.min(free, CLAIM), draining);
      claimed.forEach((hold) => this.#start(hold));
      if (this.settings.untilIdle && idle && claimed.length === 0) return;
    }
  }

  /** Scans every lane once, beginning with the next in turn, then waits in that one. */
  async #claim(most: number, draining: AbortSignal): Promise<Hold[]> {
    const { lanes, untilIdle } = this.settings;
    this.#turn = (this.#turn + 1) % lanes.length;
    const inTurn = [...lanes.slice(this.#turn), ...lanes.slice(0, this.#turn)];
    if (lanes.length > 1) {
      for (const lane of inTurn) {
        const claimed = await this.#claimLane(lane, most, 0, draining);
        if (claimed.length > 0) return claimed;
      }
    }
    const waitMs = untilIdle ? POLL_IDLE_MS : lanes.length === 1 ? POLL_MS : POLL_SEVERAL_MS;
    return this.#claimLane(inTurn[0] ?? "default", most, waitMs, draining);
  }

  /** Claims. A claim whose outcome is unknown is sent again under the same `request`, and gets what it took. */
  async #claimLane(lane: string, most: number, waitMs: number, signal: AbortSignal): Promise<Hold[]> {
    const { instance, capabilities } = this.settings;
    const body = {
      instance,
      lane,
      max: most,
      wait_ms: waitMs,
      capabilities: [...capabilities],
      request: randomUUID(),
      retry: false,
    };
    const backoff = new Backoff(50, 5_000);
    while (!signal.aborted) {
      try {
        const sent = performance.now();
        const args = { path: this.#path, body, timeoutMs: TIMEOUT_MS + waitMs, signal };
        const answer = await this.#once("POST /v1/workers/{id}/claim", args);
        const foundAgain = body.retry || this.#blockedAt >= sent;
        return (answer?.assignments ?? []).map((view) => new Hold(this.client, view, foundAgain));
      } catch (error) {
        // The server hands back what it claims for a connection that is closed.
        if (signal.aborted) break;
        if (!(error instanceof FlowFabricError) || isFinal(error)) throw error;
        log(`cannot claim; trying again: ${said(error)}`);
        body.retry = true;
        await pause(Math.max(backoff.pauseMs(), error.retryAfterMs ?? 0), signal);
      }
    }
    return [];
  }

  #start(hold: Hold): void {
    this.#heartbeat?.add(hold);
    this.#running.add(hold);
    void this.#run(hold).finally(() => {
      this.#running.delete(hold);
      this.#heartbeat?.remove(hold);
      this.#happened();
    });
  }

  async #run(hold: Hold): Promise<void> {
    try {
      const ended = await this.#handle(hold);
      await hold.flush();
      if (hold.kept) await report(hold, ended, this.settings.name);
      else if (!hold.parked) log(`${hold.id} was stopped: ${hold.stopped.reason}`);
    } catch (error) {
      if (error instanceof Stopped) log(`${hold.id} was stopped: ${error.reason}`);
      else log(`${hold.id}: its end cannot be reported: ${said(error)}`);
    }
  }

  /** Runs the handler to its end. */
  async #handle(hold: Hold): Promise<Ended> {
    const { kind } = hold.assignment;
    const handler = this.settings.handlers.get(kind);
    if (handler === undefined) {
      const kinds = [...this.settings.handlers.keys()].sort().join(", ");
      const why = `no handler for kind ${kind}; this worker has ${kinds}`;
      return { error: new RetryableError(why, { category: "no_handler" }) };
    }
    try {
      const task = new Task(hold);
      const { input } = task;
      return { value: await handler(input as never, task) };
    } catch (error) {
      return { error };
    }
  }

  /** Lets running tasks finish; once the worker is told to stop, for the drain time. Hands back the rest. */
  async #drain(): Promise<void> {
    const draining = this.#draining.signal;
    while (this.#running.size > 0 && !draining.aborted) await this.#news();
    const drained = performance.now() + this.settings.drainMs;
    while (this.#running.size > 0 && !this.#atOnce.signal.aborted && performance.now() < drained) {
      await this.#news(drained - performance.now());
    }
    if (this.#running.size === 0) return;
    await handBack([...this.#running], this.settings.name);
    const unwound = performance.now() + UNWIND_MS;
    while (this.#running.size > 0 && performance.now() < unwound) await this.#news(unwound - performance.now());
    this.abandoned = this.#running.size > 0;
  }

  /** Waits until a task has ended, the worker is told to stop, or this time is over. */
  async #news(ms = 2 ** 31 - 1): Promise<void> {
    await pause(ms, this.#wake.signal);
  }

  #happened(): void {
    const wake = this.#wake;
    this.#wake = new AbortController();
    wake.abort();
  }

  get #path(): { id: string } {
    return { id: this.settings.name };
  }

  #once<R extends Route>(route: R, args: Arguments<R>) {
    return this.client.http.once(route, this.client.here(args));
  }

  /** A call whose failure only costs time: what it would end expires. */
  async #callGently<R extends Route>(route: R, args: Arguments<R>): Promise<void> {
    try {
      await this.client.http.call(route, this.client.here({ ...args, timeoutMs: 2_000 }), 2_000);
    } catch (error) {
      log(`${route} failed: ${said(error)}`);
    }
  }
}

/** Whether repeating a claim cannot change this. Failures of the store may pass while the worker waits. */
function isFinal(error: FlowFabricError): boolean {
  if (error instanceof ServerFailed) return ["store_denied", "server_not_trusted"].includes(error.code);
  return !error.retryable;
}
