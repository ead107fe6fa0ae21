/** The thread that keeps the leases of a worker, as the main thread has it. */

import { Worker as Thread } from "node:worker_threads";

import type { News, Order } from "./heartbeat_thread.js";
import type { Hold } from "./hold.js";
import { log } from "./log.js";
import type { Settings } from "./renewals.js";

/** The leases of one worker. */
export class Heartbeat {
  readonly #thread: Thread;
  readonly #holds = new Map<string, Hold>();

  /** `failed` is called if the thread ends by itself: no lease is kept from then on. */
  constructor(settings: Settings, failed: (error: Error) => void) {
    this.#thread = new Thread(new URL("./heartbeat_thread.js", import.meta.url), {
      workerData: settings,
      name: "flowfabric-heartbeat",
    });
    this.#thread.on("error", failed);
    this.#thread.on("message", (news: News) => {
      if ("log" in news) log(news.log);
      else this.#holds.get(news.stopped)?.noticed();
    });
  }

  /** Keeps this lease from now on. */
  add(hold: Hold): void {
    const { execution, fence, lease_ttl_ms: ttlMs } = hold.assignment;
    this.#holds.set(fence.lease, hold);
    const add = { execution, fence, ttlMs, foundAgain: hold.foundAgain, timesOutInMs: hold.timesOutInMs() };
    this.#order({ add, memory: hold.stopped.memory });
  }

  /** Keeps it no longer. */
  remove(hold: Hold): void {
    const { lease } = hold.assignment.fence;
    this.#holds.delete(lease);
    this.#order({ remove: lease });
  }

  async end(): Promise<void> {
    this.#thread.removeAllListeners("error");
    // What it still fails with is of no interest.
    this.#thread.on("error", () => {});
    await this.#thread.terminate();
  }

  #order(order: Order): void {
    this.#thread.postMessage(order);
  }
}
