/** How a worker says what became of a task. The heartbeat keeps its lease until that is acknowledged. */

import { CancelTask, DelayTask, FlowFabricError, PermanentError, RetryableError, Stopped } from "./errors.js";
import type { Hold } from "./hold.js";
import { log, said } from "./log.js";
import { encode } from "./payload.js";
import { millis } from "./time.js";

const MESSAGE_BYTES = 4096;

/** How a handler ended: with a value, or by an error. */
export type Ended = { value: unknown } | { error: unknown };

/** Says how a task ended. */
export async function report(hold: Hold, ended: Ended, worker: string): Promise<void> {
  if (!("error" in ended)) return complete(hold, ended.value);
  const { error } = ended;
  if (error instanceof DelayTask) {
    await hold.post("POST /v1/executions/{id}/delay", { delay_ms: millis(error.delayMs) });
  } else if (error instanceof CancelTask) {
    await hold.post("POST /v1/executions/{id}/cancel-held", { reason: shortened(error.message) });
  } else if (hold.stopped.reason !== undefined && isAbort(error)) {
    await handBack([hold], worker);
  } else if (error instanceof PermanentError || error instanceof RetryableError) {
    await fail(hold, error.message, error.category, error instanceof RetryableError);
  } else if (error instanceof FlowFabricError && error.code === "bad_payload") {
    // What does not decode or encode now will not at the next try either.
    await fail(hold, error.message, error.code, false);
  } else {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    await fail(hold, message, "error", true);
  }
}

async function complete(hold: Hold, value: unknown): Promise<void> {
  try {
    const payload = encode(value);
    const body = { result_base64: payload.base64(), content_type: payload.contentType };
    await hold.post("POST /v1/executions/{id}/complete", body);
  } catch (error) {
    if (!(error instanceof FlowFabricError)) throw error;
    // It is refused for what it is; running it again would produce the same.
    await fail(hold, `the result was refused: ${said(error)}`, error.code, false);
  }
}

async function fail(hold: Hold, message: string, category: string, retryable: boolean): Promise<void> {
  const body = { message: shortened(message), category, retryable };
  try {
    await hold.post("POST /v1/executions/{id}/fail", body);
  } catch (error) {
    if (!(error instanceof FlowFabricError)) throw error;
    log(`${hold.id}: the failure ${JSON.stringify(category)} was refused: ${said(error)}`);
    const quoted = JSON.stringify(body.message).slice(0, 1000);
    await hold.post("POST /v1/executions/{id}/fail", { message: quoted, retryable });
  }
}

/** Ends these leases; the executions return to their queue, which costs no attempt. */
export async function handBack(holds: Hold[], worker: string): Promise<void> {
  const leases = holds.map((hold) => ({ execution: hold.id, fence: hold.assignment.fence }));
  const [first] = holds;
  try {
    const args = { path: { id: worker }, body: { leases }, timeoutMs: 2_000 };
    if (first !== undefined) await first.client.http.call("POST /v1/workers/{id}/disconnect", first.client.here(args), 2_000);
  } catch (error) {
    // The leases expire.
    log(`tasks are not handed back: ${said(error)}`);
  }
  for (const hold of holds) hold.stop("handed_back");
}

/** Whether a handler ended because it was told to stop. */
function isAbort(error: unknown): boolean {
  return error instanceof Stopped || (error instanceof Error && error.name === "AbortError");
}

/** A message as the server takes it: of its first bytes. */
function shortened(message: string): string {
  const bytes = Buffer.from(message).subarray(0, MESSAGE_BYTES);
  // A character that was cut is left out.
  return new TextDecoder().decode(bytes, { stream: true }) || "no message";
}
