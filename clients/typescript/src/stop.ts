/**
 * Why a task should stop, in memory that the thread of the heartbeats shares with the handlers: a handler that blocks
 * the event loop reads it all the same.
 */

import type { StopReason } from "./errors.js";

const REASONS: readonly (StopReason | undefined)[] = [
  undefined,
  "cancel_requested",
  "cancelled",
  "lease_lost",
  "timed_out",
  "handed_back",
];
const CANCEL_REQUESTED = 1;

/** The first reason after which nothing counts stays. */
export class StopCell {
  readonly #cell: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(4)) {
    this.#cell = new Int32Array(memory);
  }

  get reason(): StopReason | undefined {
    return REASONS[Atomics.load(this.#cell, 0)];
  }

  /** Whether nothing that the handler does counts any more. */
  get isLost(): boolean {
    return Atomics.load(this.#cell, 0) > CANCEL_REQUESTED;
  }

  /** Sets a reason; answers whether it is news. */
  set(reason: StopReason): boolean {
    const wanted = REASONS.indexOf(reason);
    for (;;) {
      const found = Atomics.load(this.#cell, 0);
      if (found > CANCEL_REQUESTED || found === wanted) return false;
      if (Atomics.compareExchange(this.#cell, 0, found, wanted) === found) return true;
    }
  }
}
