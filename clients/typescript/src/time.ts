/** Pauses: those of repeated calls, and those that something else may end. */

/** Pauses that double. Each is between half and the whole of its length, so that clients spread. */
export class Backoff {
  #nextMs: number;

  constructor(
    private readonly firstMs = 50,
    private readonly longestMs = 2_000,
  ) {
    this.#nextMs = firstMs;
  }

  pauseMs(): number {
    const whole = this.#nextMs;
    this.#nextMs = Math.min(whole * 2, this.longestMs);
    return whole * (0.5 + Math.random() / 2);
  }

  reset(): void {
    this.#nextMs = this.firstMs;
  }
}

/** Pauses, or returns as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** A duration as the API takes it: whole milliseconds, not below zero. */
export function millis(ms: number): number {
  if (!Number.isFinite(ms)) throw new TypeError(`${ms} is no number of milliseconds`);
  return Math.max(0, Math.round(ms));
}

/** The same, if there is one. */
export function optionalMillis(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : millis(ms);
}
