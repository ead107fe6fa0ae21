/** What can be said about a piece of work, alone or as a node of a flow. */

import type { LimitsRequest, PolicyRequest } from "./api.js";
import { millis, optionalMillis } from "./time.js";

/** How work is queued, limited and retried. Times are milliseconds. */
export interface WorkOptions {
  lane?: string;
  /** Higher goes first: -9000 to 9000. */
  priority?: number;
  delayMs?: number;
  /** Not before this moment. */
  start?: Date;
  tags?: Record<string, string>;
  /** What a worker must offer. */
  requires?: string[];
  budgets?: string[];
  quotas?: string[];
  /** What it will probably use of its budgets, by dimension. */
  estimate?: Record<string, number>;
  maxAttempts?: number;
  /** The wait after the first failure, and the longest. */
  backoffMs?: readonly [number, number];
  attemptTimeoutMs?: number;
  deadlineMs?: number;
  leaseTtlMs?: number;
  retentionMs?: number;
}

export function policyOf(options: WorkOptions): PolicyRequest {
  const backoff = options.backoffMs;
  return {
    max_attempts: options.maxAttempts,
    backoff: backoff === undefined ? undefined : { base_ms: millis(backoff[0]), cap_ms: millis(backoff[1]) },
    attempt_timeout_ms: optionalMillis(options.attemptTimeoutMs),
    deadline_ms: optionalMillis(options.deadlineMs),
    lease_ttl_ms: optionalMillis(options.leaseTtlMs),
    retention_ms: optionalMillis(options.retentionMs),
  };
}

export function limitsOf(options: Pick<WorkOptions, "budgets" | "quotas" | "estimate">): LimitsRequest {
  return { budgets: options.budgets, quotas: options.quotas, estimate: options.estimate };
}
