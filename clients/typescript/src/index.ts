/**
 * Durable execution for Node.js programs: submit tasks, run them in workers, and have them survive crashes.
 *
 *     import { App } from "flowfabric";
 *
 *     const app = new App("http://127.0.0.1:7272");
 *
 *     app.task("order", async (cents: number, task) => {
 *       const receipt = await task.step("charge", (key) => charge(cents, key)); // runs once
 *       await task.sleep("cool off", 86_400_000); // leaves the worker for a day
 *       return receipt;
 *     });
 *
 *     await app.run();
 *
 * `App` has handlers and runs them; `Client` submits work and watches it; `flowfabric/testing` starts a server for
 * tests. See docs/typescript.md.
 */

export type * as api from "./api.js";
export { App, type AppOptions, type Running } from "./app.js";
export { Client, type ClientOptions, type Filter, type Listed, type SubmitOptions } from "./client.js";
export {
  AccessDenied,
  CancelTask,
  Conflict,
  DelayTask,
  ExecutionCancelled,
  ExecutionEnded,
  ExecutionExpired,
  ExecutionFailed,
  ExecutionSkipped,
  FlowFabricError,
  InvalidRequest,
  NotFound,
  Overloaded,
  Parked,
  PermanentError,
  RetryableError,
  ServerFailed,
  ServerUnreachable,
  Stopped,
  type StopReason,
  TaskError,
  TaskExit,
  WaitTimeout,
} from "./errors.js";
export { FlowHandle, type FlowOptions, type NodeOptions } from "./flow.js";
export { Handle, type Patience } from "./handle.js";
export { type Log, setLog } from "./log.js";
export { Payload } from "./payload.js";
export type { WorkOptions } from "./policy.js";
export { Task, TokenStream } from "./task.js";
export type { Frame, Signal, Step } from "./views.js";
export { type ApprovalOptions, type At, type Decision, type Vote, Wait, type Waited, type WaitOptions } from "./wait.js";
