/** What the tests share: a server, waiting for a condition, and a proxy that loses answers. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket, type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { after } from "node:test";

import { type App, type AppOptions, type Client, setLog } from "flowfabric";
import { Server } from "flowfabric/testing";

/** How long anything may take before a test gives up on it. */
export const TIMEOUT_MS = 60_000;
/** For `wait` and `result`. */
export const SOON = { timeoutMs: TIMEOUT_MS };
/** Retries without a wait to speak of. */
export const QUICKLY = { backoffMs: [10, 20] } as const;

// What handlers do wrong on purpose is not printed.
setLog(() => {});

/** The server of a file of tests. */
export async function serverOfTests(): Promise<Server> {
  const server = await Server.start();
  after(() => server.stop());
  return server;
}

/** Runs something while the application works. */
export async function during(app: App, run: () => Promise<void>): Promise<void> {
  const running = await app.start();
  try {
    await run();
  } finally {
    await running.stop();
  }
}

/** Waits until a condition holds, and gives what it answered. */
export async function until<T>(condition: () => T | Promise<T>, what = "the condition"): Promise<T> {
  const ends = performance.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > ends) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** All that an iterator gives. */
export async function gathered<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Blocks the event loop until a condition holds, or for this long. */
export function block(ms: number, unless: () => boolean = () => false): void {
  const ends = performance.now() + ms;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (performance.now() < ends && !unless()) Atomics.wait(cell, 0, 0, 5);
}

/** Something that happens once. */
export class Happening {
  #happen: () => void = () => {};
  happened = false;
  readonly promise = new Promise<void>((resolve) => (this.#happen = resolve));

  set(): void {
    this.happened = true;
    this.#happen();
  }
}

/** A program of its own process, and what it prints. */
export class Program {
  readonly #process: ChildProcess;
  readonly #lines: string[] = [];
  readonly exited: Promise<number | null>;
  #closed = false;
  #wake: () => void = () => {};

  constructor(file: URL, args: string[], client: Client) {
    const env = { ...process.env, FF_URL: client.url, FF_NAMESPACE: client.namespace };
    this.#process = spawn(process.execPath, [file.pathname, ...args], { env, stdio: ["pipe", "pipe", "ignore"] });
    this.exited = once(this.#process, "exit").then(([code]) => code as number | null);
    const { stdout } = this.#process;
    if (stdout === null) throw new Error("it has no output");
    const lines = createInterface(stdout);
    lines.on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    lines.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      if (this.#closed) throw new Error("it prints nothing more");
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** All lines that it still prints. */
  async rest(): Promise<string[]> {
    while (!this.#closed) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#lines.splice(0);
  }

  enter(): void {
    this.#process.stdin?.write("\n");
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }
}

/** Stands before a server, and loses the answer to some requests: they took effect, and nobody knows. */
export class Proxy {
  readonly lost: string[] = [];
  readonly #lose: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#serve(client));

  private constructor(private readonly target: URL) {}

  static async before(app: { url: string }): Promise<Proxy> {
    const proxy = new Proxy(new URL(app.url));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Loses the answer to the next request whose path has this, once for each. */
  lose(...paths: string[]): void {
    this.#lose.push(...paths);
  }

  close(): void {
    this.#server.close();
    this.#sockets.forEach((socket) => socket.destroy());
  }

  #serve(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    let losing: string | undefined;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on("data", (data) => {
      const [head = ""] = data.toString("latin1").split("\r\n", 1);
      const found = this.#lose.find((path) => head.includes(path));
      if (found !== undefined) {
        this.#lose.splice(this.#lose.indexOf(found), 1);
        losing = found;
      }
      server.write(data);
    });
    server.on("data", (data) => {
      if (losing === undefined) return void client.write(data);
      // The answer comes, so it took effect; it does not arrive.
      this.lost.push(losing);
      client.destroy();
    });
  }
}

export type { AppOptions };
