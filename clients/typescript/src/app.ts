/** An application: handlers, and a worker that runs them. */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

import { Client, type ClientOptions } from "./client.js";
import type { Task } from "./task.js";
import { millis } from "./time.js";
import { type Handler, type Settings, Worker } from "./worker.js";

/** How the worker of an application works. */
export interface AppOptions extends ClientOptions {
  /** What the processes of this program are called; by default `node`. */
  name?: string;
  /** This process; by default a new name. */
  instance?: string;
  /** How many tasks run at once; by default one. */
  concurrency?: number;
  /** What it offers to tasks that require it. */
  capabilities?: string[];
  /** How long running tasks may take to finish when the worker stops, before they are handed back; by default 10 s. */
  drainMs?: number;
}

/** A worker that runs in the background. */
export interface Running {
  /** Claims nothing more, lets tasks finish for the drain time, and returns when the worker has ended. */
  stop(): Promise<void>;
  /** Ends as the worker does: by `stop`, or by what made it end. */
  ended: Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Handlers of one program, and the server whose work they do.
 *
 *     const app = new App("http://127.0.0.1:7272");
 *     app.task("greet", (name: string) => `hello, ${name}`);
 *     await app.run();
 *
 * What is not given is that of `ff`: `FF_URL`, `FF_TOKEN`, `FF_NAMESPACE` and `FF_CA`.
 */
export class App {
  /** A client of the same server. */
  readonly client: Client;
  readonly #options: AppOptions;
  readonly #handlers = new Map<string, Handler>();
  readonly #lanes = new Set<string>();
  readonly #workers = new Set<Worker>();

  constructor(url?: string, options: AppOptions = {}) {
    const { concurrency = 1 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new TypeError(`concurrency is ${concurrency}; give at least 1`);
    }
    this.client = new Client(url, options);
    this.#options = options;
  }

  /**
   * Handles one kind of work with a function, and serves its lane. The function gets the input and the task; what it
   * returns, or resolves to, is the result: a JSON value, a `Uint8Array` or a `Payload`.
   */
  task<Input = unknown>(
    kind: string,
    handler: (input: Input, task: Task) => unknown,
    options: { lane?: string } = {},
  ): this {
    if (this.#handlers.has(kind)) throw new TypeError(`${kind} has two handlers; give it one`);
    this.#handlers.set(kind, handler as Handler);
    this.#lanes.add(options.lane ?? "default");
    return this;
  }

  /**
   * Works until the process is told to stop (Ctrl-C or SIGTERM); then drains. A second signal does not wait. With
   * `untilIdle` it also ends when there is no work. A handler that does not end although its task was handed back is
   * ended with the process.
   */
  async run(options: { untilIdle?: boolean } = {}): Promise<void> {
    const worker = this.#worker(options.untilIdle ?? false);
    const stop = (): void => worker.stop();
    process.on("SIGINT", stop).on("SIGTERM", stop);
    try {
      await this.#work(worker, () => {});
    } finally {
      process.off("SIGINT", stop).off("SIGTERM", stop);
    }
    if (worker.abandoned) process.exit();
  }

  /** Works in the background, from when this resolves until `stop`. */
  async start(): Promise<Running> {
    const worker = this.#worker(false);
    const ended = await new Promise<{ work: Promise<void> }>((resolve, reject) => {
      const work = this.#work(worker, () => resolve({ work }));
      work.catch(reject);
    });
    const stop = async (): Promise<void> => {
      worker.stop();
      await ended.work;
    };
    return { stop, ended: ended.work, [Symbol.asyncDispose]: stop };
  }

  /** Tells its workers to stop, as a signal does. */
  stop(): void {
    for (const worker of this.#workers) worker.stop();
  }

  async #work(worker: Worker, connected: () => void): Promise<void> {
    this.#workers.add(worker);
    try {
      await worker.work(connected);
    } finally {
      this.#workers.delete(worker);
    }
  }

  #worker(untilIdle: boolean): Worker {
    if (this.#handlers.size === 0) throw new TypeError("the app has no handlers; give it at least one with app.task(kind, handler)");
    const { name = "node", instance, concurrency = 1, capabilities = [], drainMs = 10_000, token, ca } = this.#options;
    const settings: Settings = {
      place: { url: this.client.url, token: token || process.env["FF_TOKEN"] || undefined, ca: ca || process.env["FF_CA"] || undefined },
      handlers: new Map(this.#handlers),
      lanes: [...this.#lanes],
      name,
      instance: instance ?? `${hostname().slice(0, 20)}-${process.pid}-${randomUUID().slice(0, 8)}`,
      capabilities,
      concurrency,
      drainMs: millis(drainMs),
      untilIdle,
    };
    return new Worker(settings, this.client);
  }
}
