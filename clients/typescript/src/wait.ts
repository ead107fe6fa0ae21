/** What a task waits for, and what came of it. */

import type { ConditionView, CountOf, OnTimeout, SuspendReason } from "./api.js";
import type { Signal } from "./views.js";

/** For more than one signal at some waitpoints, give one of `signals`, `sources` and `waitpoints`. */
export interface At {
  /** Only signals of this name. */
  named?: string;
  /** So many. */
  signals?: number;
  /** Of so many different senders. */
  sources?: number;
  /** At so many of them. */
  waitpoints?: number;
}

/**
 * Signals at waitpoints: so many, or of so many senders, all or any of several such conditions.
 *
 *     Wait.at("payment", { named: "paid" })
 *     Wait.all(Wait.at("board", { sources: 2 }), Wait.any(Wait.at("legal"), Wait.at("chair")))
 *     Wait.at(["a", "b", "c", "d"], { waitpoints: 3 })
 */
export class Wait {
  private constructor(
    readonly condition: ConditionView,
    readonly waitpoints: readonly string[],
  ) {}

  /** A signal at one of these waitpoints, which are opened unless they are. */
  static at(waitpoint: string | readonly string[], at: At = {}): Wait {
    const waitpoints = typeof waitpoint === "string" ? [waitpoint] : [...waitpoint];
    const counts: [CountOf, number | undefined][] = [
      ["signals", at.signals],
      ["sources", at.sources],
      ["waitpoints", at.waitpoints],
    ];
    const given = counts.filter(([, n]) => n !== undefined);
    if (waitpoints.length === 0 || given.length > 1) {
      throw new TypeError("a wait has one or more waitpoints, and one of signals, sources and waitpoints at most");
    }
    const [of, n = 1] = given[0] ?? ["signals", 1];
    return new Wait({ count: { n, of, waitpoints, name: at.named ?? null } }, waitpoints);
  }

  /** All of these. */
  static all(...parts: Wait[]): Wait {
    return new Wait({ all: parts.map((part) => part.condition) }, distinct(parts));
  }

  /** One of these. */
  static any(...parts: Wait[]): Wait {
    return new Wait({ any: parts.map((part) => part.condition) }, distinct(parts));
  }
}

function distinct(parts: Wait[]): string[] {
  return [...new Set(parts.flatMap((part) => part.waitpoints))];
}

/** How a task waits. */
export interface WaitOptions {
  timeoutMs?: number;
  /** What happens to a task whose wait is over time; by default it continues and learns of it. */
  onTimeout?: OnTimeout;
  /** The kind of answer that is waited for, by which people list it. */
  reason?: SuspendReason;
  /** What people read about it. */
  message?: string;
}

/** How a wait ended: by signals, by its time (`timedOut`), or, without either, by an operator. */
export interface Waited {
  signals: Signal[];
  /** The first signal, if one has come. */
  signal: Signal | undefined;
  timedOut: boolean;
}

/** How a task asks people. */
export interface ApprovalOptions {
  /** How many different people must say yes; by default one. */
  approvers?: number;
  timeoutMs?: number;
  /** Where they answer; by default `approval`. */
  waitpoint?: string;
}

/** What one person has decided. */
export interface Vote {
  /** Who, as the server knows them. */
  by: string;
  approved: boolean;
  comment: string | undefined;
}

/** What people have decided. `outcome` is `resumed` if an operator ended the wait without them. */
export interface Decision {
  approved: boolean;
  outcome: "approved" | "rejected" | "timed_out" | "resumed";
  /** Who said yes; or, after a no, who said that. */
  votes: Vote[];
}

/** What the end of a wait for people means. */
export function decisionOf(waited: Waited): Decision {
  const votes = waited.signals.filter((one) => one.name === "approve" || one.name === "reject").map(voteOf);
  const against = votes.find((vote) => !vote.approved);
  if (waited.signals.length === 0) {
    return { approved: false, outcome: waited.timedOut ? "timed_out" : "resumed", votes: [] };
  }
  if (against !== undefined) return { approved: false, outcome: "rejected", votes: [against] };
  return { approved: true, outcome: "approved", votes };
}

function voteOf(signal: Signal): Vote {
  const said = signal.payload as { comment?: unknown } | null | undefined;
  const comment = typeof said?.comment === "string" ? said.comment : undefined;
  return { by: signal.source, approved: signal.name === "approve", comment };
}
