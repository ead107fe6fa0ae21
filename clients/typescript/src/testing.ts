/**
 * A real server for tests, in memory, on a free port of this machine.
 *
 *     const server = await Server.start();
 *     after(() => server.stop());
 *
 *     test("everybody is greeted", async () => {
 *       const { app, client } = server.namespace();
 *       app.task("greet", (name: string) => `hello, ${name}`);
 *       const running = await app.start();
 *       assert.equal(await (await client.submit("greet", "you")).result(), "hello, you");
 *       await running.stop();
 *     });
 *
 * `ff` is found by `FF_BINARY`, or on the PATH.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { App, type AppOptions } from "./app.js";
import { Client } from "./client.js";

/** How a server is started. */
export interface ServerOptions {
  /** A file instead of memory, such as `sqlite:test.ff`. */
  store?: string;
  /** What every call must show. */
  token?: string;
}

/** A running `ff serve`. What is in memory ends with it. It ends with this process at the latest. */
export class Server {
  #process: ChildProcess | undefined;
  #url = "";
  readonly #kill = (): void => {
    this.#process?.kill("SIGKILL");
  };

  private constructor(private readonly options: ServerOptions) {}

  /** Starts it, and returns when it serves. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const server = new Server(options);
    await server.restart();
    return server;
  }

  get url(): string {
    return this.#url;
  }

  /** Starts it again, after a stop, at the same address. */
  async restart(): Promise<void> {
    const { store = "memory:", token } = this.options;
    // Nothing of the surroundings decides where a test works.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FF_")));
    if (token !== undefined) env["FF_TOKEN"] = token;
    const program = process.env["FF_BINARY"] || "ff";
    const listen = this.#url === "" ? "127.0.0.1:0" : new URL(this.#url).host;
    const args = ["serve", "--store", store, "--listen", listen];
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    this.#process = child;
    process.once("exit", this.#kill);
    const lines = createInterface(child.stdout);
    const first = await Promise.race([
      once(lines, "line").then(([line]) => String(line)),
      once(child, "exit").then(() => ""),
    ]);
    lines.close();
    if (!first.startsWith("http")) {
      throw new Error(`${program} ${args.join(" ")} does not start; run it to see why`);
    }
    this.#url = first.trim();
    // A test that forgets it ends all the same.
    child.unref();
    child.stdout.destroy();
  }

  /** Kills it, without a word to its clients. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    process.off("exit", this.#kill);
    child.ref();
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** A client and an application in a namespace that no other test has. */
  namespace(options: AppOptions = {}): { client: Client; app: App } {
    const own = { token: this.options.token, namespace: `test-${randomUUID()}`, ...options };
    const app = new App(this.#url, own);
    return { app, client: app.client };
  }
}
