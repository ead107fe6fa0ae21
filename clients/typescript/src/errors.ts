/**
 * Everything that can go wrong, in one hierarchy, and how a handler ends without a result.
 *
 * `FlowFabricError` is what a call throws. It has the stable `code` of the server (see docs/reference/errors.md), the
 * HTTP `status` if there was an answer, and `retryable`: whether the same call may succeed later.
 *
 * `TaskError` is what a handler throws to say how its task ends. `TaskExit` is thrown in a handler, when its task has
 * left the worker or is stopped.
 */

import type { Problem } from "./api.js";

/** Why a handler should stop. With `cancel_requested` a result in time still counts; otherwise nothing does. */
export type StopReason = "cancel_requested" | "cancelled" | "lease_lost" | "timed_out" | "handed_back";

/** What an error says besides its message. */
export interface Details {
  code: string;
  retryable?: boolean;
  status?: number;
  field?: string;
  retryAfterMs?: number;
  cause?: unknown;
}

/** A call that was refused, or failed. */
export class FlowFabricError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: Details) {
    super(message, { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.retryable = details.retryable ?? false;
    this.status = details.status;
    this.field = details.field;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** An argument is malformed, out of range or too large. The same call is refused again. */
export class InvalidRequest extends FlowFabricError {}

/** The namespace has no such thing. */
export class NotFound extends FlowFabricError {}

/** The call does not fit the present state, or what an earlier call has done. */
export class Conflict extends FlowFabricError {}

/** The token is missing or wrong (401), or its role may not do this (403). */
export class AccessDenied extends FlowFabricError {}

/** Too many requests. Nothing was changed. */
export class Overloaded extends FlowFabricError {}

/** The server or its store could not carry out the call. */
export class ServerFailed extends FlowFabricError {}

/** No answer: the server cannot be reached, or the connection broke. Whether the call took effect is unknown. */
export class ServerUnreachable extends FlowFabricError {}

/** The execution did not end in the time given. It keeps running. */
export class WaitTimeout extends FlowFabricError {}

/** An execution ended without a result; which way, says the subclass. */
export class ExecutionEnded extends FlowFabricError {
  readonly execution: string;

  constructor(execution: string, message: string, code: string) {
    super(message, { code });
    this.execution = execution;
  }
}

/** It failed. `category` is the kind of failure that its last attempt had. */
export class ExecutionFailed extends ExecutionEnded {
  readonly category: string | undefined;

  constructor(execution: string, message: string, category: string | undefined) {
    super(execution, message, "failed");
    this.category = category;
  }
}

/** It was cancelled. */
export class ExecutionCancelled extends ExecutionEnded {}

/** It was not done before its deadline. */
export class ExecutionExpired extends ExecutionEnded {}

/** It is a node of a flow that did not run, because too few of those that it depends on have completed. */
export class ExecutionSkipped extends ExecutionEnded {}

const BY_STATUS: Record<number, typeof FlowFabricError> = {
  400: InvalidRequest,
  401: AccessDenied,
  403: AccessDenied,
  404: NotFound,
  409: Conflict,
  410: Conflict,
  429: Overloaded,
};

/** The error that an answer of the server describes (RFC 9457). */
export function errorOfProblem(status: number, problem: Partial<Problem>, retryAfterMs?: number): FlowFabricError {
  const kind = BY_STATUS[status] ?? (status >= 500 ? ServerFailed : InvalidRequest);
  return new kind(problem.detail ?? `the server answered ${status}`, {
    code: problem.code ?? "protocol_error",
    // What stands between answers without our problem; it may pass.
    retryable: problem.retryable ?? [429, 502, 503, 504].includes(status),
    status,
    field: problem.field ?? undefined,
    retryAfterMs,
  });
}

/** A handler throws a subclass of this to say how its task ends. Any other error is a `RetryableError`. */
export class TaskError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** What a failure says besides its message: its kind, by which people and programs tell failures apart. */
export interface FailureOptions extends ErrorOptions {
  category?: string;
}

/** The attempt failed, and another one may succeed. The policy of the task decides whether there is one. */
export class RetryableError extends TaskError {
  readonly category: string;

  constructor(message: string, options: FailureOptions = {}) {
    super(message, options);
    this.category = options.category ?? "error";
  }
}

/** The task failed, and no further attempt would succeed. */
export class PermanentError extends TaskError {
  readonly category: string;

  constructor(message: string, options: FailureOptions = {}) {
    super(message, options);
    this.category = options.category ?? "error";
  }
}

/** No failure: the same attempt continues, from the beginning of the handler, after this time. */
export class DelayTask extends TaskError {
  constructor(readonly delayMs: number) {
    super(`delayed by ${delayMs} ms`);
  }
}

/** The task cancels itself. */
export class CancelTask extends TaskError {}

/** Ends a handler whose task has left this worker. Do not catch it; `finally` is fine. */
export class TaskExit extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The task sleeps or waits, without this worker. It continues, from its beginning, when that is over. */
export class Parked extends TaskExit {
  constructor() {
    super("the task has left this worker until what it waits for has come; let this error end the handler");
  }
}

/** Nothing that the handler does counts any more; or, if a cancel was requested, it should end. */
export class Stopped extends TaskExit {
  constructor(readonly reason: StopReason) {
    super(`the task is stopped: ${reason}`);
  }
}
