/** What calls answer whose payloads are decoded. All other answers are as `/openapi.json` describes them. */

import type { EntryKind, FrameView, PublicState, SignalView, StepView } from "./api.js";
import { bytesOf, decode, Payload } from "./payload.js";

const ENDS: readonly PublicState[] = ["completed", "failed", "cancelled", "expired", "skipped"];

/** Whether an execution in this state is at its end. */
export function isEnd(state: PublicState): boolean {
  return ENDS.includes(state);
}

/** An entry of a journal: what a step, a sleep or a wait has come to. */
export interface Step {
  number: number;
  name: string;
  kind: EntryKind;
  /** Whether attempts find it; a replay may have hidden it. */
  visible: boolean;
  attempt: number;
  result: unknown;
  /** The whole answer. */
  view: StepView;
}

export function stepOf(view: StepView): Step {
  const { number, step: name, kind, visible, attempt } = view;
  return { number, name, kind, visible, attempt, result: decode(view.result, view.result_base64, view.content_type), view };
}

/** A part of what an execution streams. */
export interface Frame {
  number: number;
  type: string;
  attempt: number;
  data: Uint8Array;
  /** Its bytes as text; what is no UTF-8 is replaced. */
  text: string;
}

export function frameOf(view: FrameView): Frame {
  const data = bytesOf(view);
  return { number: view.number, type: view.type, attempt: view.attempt, data, text: new TextDecoder().decode(data) };
}

/** A signal that has come. */
export interface Signal {
  number: number;
  waitpoint: string;
  name: string | undefined;
  /** Who sent it, as the server knows it. */
  source: string;
  payload: unknown;
}

export function signalOf(view: SignalView): Signal {
  const payload = new Payload(bytesOf(view.payload), view.payload.content_type).value();
  return { number: view.number, waitpoint: view.key, name: view.name ?? undefined, source: view.source, payload };
}
