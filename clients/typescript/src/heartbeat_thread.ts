/** The thread that renews leases: what the main thread tells it, and what it tells the main thread. */

import { parentPort, workerData } from "node:worker_threads";

import { Renewals, type Kept, type Settings } from "./renewals.js";
import { StopCell } from "./stop.js";
import type { StopReason } from "./errors.js";

/** What the main thread says. */
export type Order = { add: Kept; memory: SharedArrayBuffer } | { remove: string };
/** What the main thread learns. */
export type News = { stopped: string; reason: StopReason } | { log: string };

const main = parentPort;
if (main !== null) {
  const tell = (news: News): void => main.postMessage(news);
  const renewals = new Renewals(
    workerData as Settings,
    (stopped, reason) => tell({ stopped, reason }),
    (log) => tell({ log }),
  );
  main.on("message", (order: Order) => {
    if ("add" in order) renewals.add(order.add, new StopCell(order.memory));
    else renewals.remove(order.remove);
  });
  // A fault of ours ends the thread, and with it the worker: its leases would not be kept.
  await Promise.race([renewals.beat(), renewals.listen(), renewals.stayRegistered()]);
}
