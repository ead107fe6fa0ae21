/**
 * Renews the leases of a worker, all in one call, and learns from the answers what to stop. It runs on a thread of its
 * own (`heartbeat_thread.ts`), so that no handler can starve it.
 *
 * What is stopped from outside (cancelled, revoked, expired) is announced by the server, and that lease is renewed at
 * once; a worker that cannot listen learns of it with the next renewal.
 */

import type { BeatView, FenceBody, RegisterRequest } from "./api.js";
import { FlowFabricError, type StopReason } from "./errors.js";
import { Http, type Place, TIMEOUT_MS } from "./http.js";
import { said } from "./log.js";
import type { StopCell } from "./stop.js";
import { Backoff, pause } from "./time.js";

const BATCH = 1000;
const MIN_PAUSE_MS = 20;
const LISTEN_MS = 30_000;
const AGAIN_MS = 2_000;

/** What the thread knows of its worker. */
export interface Settings {
  place: Place;
  namespace: string;
  worker: string;
  registration: RegisterRequest & { instance: string; session: string; ttl_ms: number };
  /** Whether the worker is registered already. */
  registered: boolean;
}

/** A lease to keep, as the main thread gives it. */
export interface Kept {
  execution: string;
  fence: FenceBody;
  ttlMs: number;
  /** Whether its claim may be long ago. */
  foundAgain: boolean;
  /** How long the attempt may run, if that is bounded. */
  timesOutInMs: number | undefined;
}

interface Lease extends Kept {
  stop: StopCell;
  renewAt: number;
  ends: number;
  timeout: NodeJS.Timeout | undefined;
}

/** The leases of one worker. */
export class Renewals {
  readonly #http: Http;
  readonly #leases = new Map<string, Lease>();
  #changed = new AbortController();

  constructor(
    private readonly settings: Settings,
    private readonly stopped: (lease: string, reason: StopReason) => void,
    private readonly log: (line: string) => void,
  ) {
    this.#http = new Http(settings.place);
  }

  /** Keeps this lease from now on. */
  add(kept: Kept, stop: StopCell): void {
    const now = performance.now();
    const { ttlMs, timesOutInMs } = kept;
    // An answer that was lost, or read late, may have come long after its lease began.
    const renewAt = kept.foundAgain ? now : now + ttlMs / 3;
    const lease: Lease = { ...kept, stop, renewAt, ends: now + ttlMs, timeout: undefined };
    if (timesOutInMs !== undefined) {
      // By the clock of this process, so that it does not wait for the server to say so.
      lease.timeout = setTimeout(() => this.#stop(lease, "timed_out"), Math.min(timesOutInMs, 2 ** 31 - 1));
    }
    this.#leases.set(kept.fence.lease, lease);
    this.#change();
  }

  /** Keeps it no longer. */
  remove(lease: string): void {
    clearTimeout(this.#leases.get(lease)?.timeout);
    this.#leases.delete(lease);
  }

  /** Renews, each lease at a third of its length, for as long as the thread runs. */
  async beat(): Promise<never> {
    for (;;) {
      const changed = this.#changed.signal;
      const kept = [...this.#leases.values()].filter((lease) => !lease.stop.isLost);
      if (kept.length === 0) {
        await pause(2 ** 31 - 1, changed);
        continue;
      }
      const pauseMs = Math.min(...kept.map((lease) => lease.renewAt)) - performance.now();
      if (pauseMs > 0) {
        await pause(pauseMs, changed);
        continue;
      }
      const now = performance.now();
      const due = kept.filter((lease) => lease.renewAt <= now + lease.ttlMs / 10).slice(0, BATCH);
      // A server that does not answer must not keep a holder from learning that its lease has ended.
      await this.#renew(due, now, Math.max(1000, Math.min(...kept.map((lease) => lease.ttlMs)) / 3));
      await pause(MIN_PAUSE_MS);
    }
  }

  async #renew(due: Lease[], sent: number, timeoutMs: number): Promise<void> {
    const leases = due.map(({ execution, fence }) => ({ execution, fence }));
    const { worker: id, namespace } = this.settings;
    try {
      const args = { path: { id }, query: { namespace }, body: { leases }, timeoutMs };
      const answer = await this.#http.once("POST /v1/workers/{id}/heartbeat", args);
      const views = "leases" in answer ? answer.leases : [];
      due.forEach((lease, place) => this.#renewed(lease, sent, views[place]));
    } catch (error) {
      if (!(error instanceof FlowFabricError)) throw error;
      this.log(`a heartbeat failed: ${said(error)}`);
      for (const lease of due) this.#unanswered(lease);
    }
  }

  /** Takes the answer to a renewal that was sent at this time. */
  #renewed(lease: Lease, sent: number, view: BeatView | undefined): void {
    if (view === undefined || view.status === "unknown") return this.#unanswered(lease);
    if (view.status !== "renewed" && view.status !== "cancelling") {
      const cancelled = view.status === "cancelled" || lease.stop.reason === "cancel_requested";
      return this.#stop(lease, cancelled ? "cancelled" : "lease_lost");
    }
    lease.renewAt = sent + lease.ttlMs / 3;
    lease.ends = sent + lease.ttlMs;
    if (view.cancel_by && view.until) {
      const leftMs = Date.parse(view.cancel_by) - Date.parse(view.until) + lease.ttlMs;
      lease.renewAt = Math.min(lease.renewAt, sent + Math.max(leftMs, MIN_PAUSE_MS));
      this.#stop(lease, "cancel_requested");
    }
  }

  /** A renewal has no answer: it is sent again soon, until the lease has surely ended. */
  #unanswered(lease: Lease): void {
    const now = performance.now();
    if (now >= lease.ends) return this.#stop(lease, "lease_lost");
    lease.renewAt = now + Math.max(lease.ttlMs / 10, MIN_PAUSE_MS);
  }

  #stop(lease: Lease, reason: StopReason): void {
    if (lease.stop.set(reason)) this.stopped(lease.fence.lease, reason);
  }

  /** Learns what is stopped from outside, while something is held, for as long as the thread runs. */
  async listen(): Promise<never> {
    const { namespace, registration } = this.settings;
    const backoff = new Backoff(1_000, 30_000);
    let after: string | undefined;
    for (;;) {
      while (this.#leases.size === 0) await pause(2 ** 31 - 1, this.#changed.signal);
      const query = { namespace, instance: registration.instance, after, wait_ms: LISTEN_MS };
      const sent = performance.now();
      try {
        const news = await this.#http.once("GET /v1/stops", { query, timeoutMs: LISTEN_MS + TIMEOUT_MS });
        backoff.reset();
        after = news.cursor;
        if (news.all || news.executions.length > 0) this.#renewNow(news.all ? undefined : news.executions);
        // A server that stops answers at once.
        else await pause(Math.max(0, sent + 1_000 - performance.now()));
      } catch (error) {
        if (!(error instanceof FlowFabricError)) throw error;
        // Renewals find what was stopped.
        await pause(backoff.pauseMs());
      }
    }
  }

  /** Renews the leases on these executions at once; `undefined` is all of them. */
  #renewNow(executions: string[] | undefined): void {
    for (const lease of this.#leases.values()) {
      if (executions === undefined || executions.includes(lease.execution)) lease.renewAt = 0;
    }
    this.#change();
  }

  #change(): void {
    const changed = this.#changed;
    this.#changed = new AbortController();
    changed.abort();
  }

  /** Keeps the worker registered: for people and `ff explain`; claims do not need it. */
  async stayRegistered(): Promise<never> {
    const { worker: id, namespace, registration } = this.settings;
    const { instance, session, ttl_ms } = registration;
    let { registered } = this.settings;
    for (;;) {
      await pause(registered ? ttl_ms / 3 : AGAIN_MS);
      const place = { path: { id }, query: { namespace } };
      try {
        if (registered) await this.#http.once("POST /v1/workers/{id}/heartbeat", { ...place, body: { instance, session } });
        else await this.#http.once("POST /v1/workers/{id}/register", { ...place, body: registration });
        registered = true;
      } catch (error) {
        if (!(error instanceof FlowFabricError)) throw error;
        this.log(`the worker is not registered; trying again: ${said(error)}`);
        registered &&= error.retryable;
      }
    }
  }
}
