/**
 * Calls of the API, over kept-alive connections of `node:http`.
 *
 * Every call of the API can be repeated, so a call whose answer is lost is sent again, as it was, until its patience
 * ends: after a pause with jitter, and only if the failure may pass.
 */

import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";

import type { Calls, Problem } from "./api.js";
import { errorOfProblem, FlowFabricError, InvalidRequest, ServerFailed, ServerUnreachable } from "./errors.js";
import { Payload } from "./payload.js";
import { Backoff, pause } from "./time.js";

/** How long one call may take, besides the time that it asks the server to wait. */
export const TIMEOUT_MS = 10_000;
/** How long a call is repeated. */
const PATIENCE_MS = 30_000;
const MAX_BODY = 64 << 20;
/** How many connections are kept for later calls. */
const MAX_IDLE = 16;
/** The longest that a call waits because the server asks for it. */
const MAX_RETRY_AFTER_MS = 5_000;

export type Route = keyof Calls;

/** What a call takes. A part that the call has no use for may be left out. */
export type Arguments<R extends Route> = {
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
} & Part<"path", Calls[R]["path"]> &
  Part<"query", Calls[R]["query"]> &
  Part<"body", Calls[R]["body"]>;

type Part<Name extends string, T> = undefined extends T
  ? unknown
  : Partial<T> extends T
    ? { [Key in Name]?: Values<T> }
    : { [Key in Name]: Values<T> };
type Values<T> = { [Key in keyof T]: T[Key] | undefined };

/** Any call, without its types. */
interface Request {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/** Where a server is, and who calls it. */
export interface Place {
  url: string;
  token?: string | undefined;
  /** A file of certificates of authorities to trust instead of the system's. */
  ca?: string | undefined;
}

/** Calls one server. */
export class Http {
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #agent: http.Agent;
  readonly #module: typeof http | typeof https;

  constructor(place: Place) {
    this.#url = addressOf(place.url);
    this.#headers = { accept: "application/json" };
    if (place.token !== undefined) {
      if (!/^[\x21-\x7e]+$/.test(place.token)) {
        throw new TypeError("the token has characters that no header can carry");
      }
      this.#headers["authorization"] = `Bearer ${place.token}`;
    }
    const keep = { keepAlive: true, maxFreeSockets: MAX_IDLE };
    if (this.#url.protocol === "https:") {
      this.#module = https;
      this.#agent = new https.Agent({ ...keep, ...(place.ca ? { ca: readFileSync(place.ca) } : {}) });
    } else {
      this.#module = http;
      this.#agent = new http.Agent(keep);
    }
  }

  /** Makes a call, and repeats it while it fails in a way that may pass. */
  async call<R extends Route>(route: R, args: Arguments<R>, patienceMs = PATIENCE_MS): Promise<Calls[R]["answer"]> {
    return decoded(await this.#repeat(route, args, patienceMs));
  }

  /** Makes a call, once. A problem that the server answers is thrown. */
  async once<R extends Route>(route: R, args: Arguments<R>): Promise<Calls[R]["answer"]> {
    return decoded(await this.#once(route, args));
  }

  /** Makes a call whose answer is bytes of any type, and repeats it as `call` does. */
  async payload<R extends Route>(route: R, args: Arguments<R>): Promise<Payload> {
    const answer = await this.#repeat(route, args, PATIENCE_MS);
    return new Payload(new Uint8Array(answer.body), answer.headers["content-type"] ?? "application/octet-stream");
  }

  /** Closes the connections that wait for a call. */
  close(): void {
    this.#agent.destroy();
  }

  async #repeat(route: string, request: Request, patienceMs: number): Promise<Answer> {
    const until = performance.now() + patienceMs;
    const backoff = new Backoff();
    for (;;) {
      try {
        return await this.#once(route, request);
      } catch (error) {
        if (!(error instanceof FlowFabricError) || !error.retryable) throw error;
        const pauseMs = Math.max(backoff.pauseMs(), Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
        if (performance.now() + pauseMs > until) throw error;
        await pause(pauseMs, request.signal);
        request.signal?.throwIfAborted();
      }
    }
  }

  async #once(route: string, request: Request): Promise<Answer> {
    const [method = "", pattern = ""] = route.split(" ");
    const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ""));
    const answer = await this.#exchange(method, path + queryOf(request.query ?? {}), request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    const seconds = answer.headers["retry-after"];
    const retryAfterMs = seconds !== undefined && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
    throw errorOfProblem(answer.status, problemOf(answer.body), retryAfterMs);
  }

  /** One request and its answer. */
  #exchange(method: string, target: string, request: Request): Promise<Answer> {
    const { signal, timeoutMs = TIMEOUT_MS } = request;
    signal?.throwIfAborted();
    const data = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const headers: http.OutgoingHttpHeaders = { ...this.#headers };
    if (data !== undefined) headers["content-type"] = "application/json";
    if (data !== undefined || method !== "GET") headers["content-length"] = data?.length ?? 0;
    const path = this.#url.pathname.replace(/\/+$/, "") + target;
    return new Promise((resolve, reject) => {
      const options = { method, path, headers, agent: this.#agent };
      const sent = this.#module.request(this.#url, options, (answer) => {
        const parts: Buffer[] = [];
        let size = 0;
        answer.on("data", (part: Buffer) => {
          size += part.length;
          parts.push(part);
          if (size > MAX_BODY) fail(protocolError(`the answer has more than ${MAX_BODY} bytes`));
        });
        answer.on("error", (error) => fail(error));
        answer.on("end", () => {
          if (!answer.complete) return fail(brokenOff("the connection was closed"));
          end();
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) });
        });
      });
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const fail = (error: unknown): void => {
        end();
        reject(error instanceof FlowFabricError ? error : failureOf(error, this.#url.host));
        sent.destroy();
      };
      const abort = (): void => {
        end();
        reject(signal?.reason);
        sent.destroy();
      };
      const late = `${method} ${target.split("?")[0]} was not answered in ${timeoutMs / 1000} s`;
      const timer = setTimeout(() => fail(brokenOff(late)), timeoutMs);
      signal?.addEventListener("abort", abort, { once: true });
      sent.on("error", fail);
      sent.end(data);
    });
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:\/\/[^/]/.test(text) || url.search !== "" || url.hash !== "" || url.username !== "") {
    throw new TypeError(`${JSON.stringify(text)} is not the address of a server; give http:// or https:// and a host`);
  }
  return url;
}

function queryOf(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

function decoded(answer: Answer): never {
  if (answer.body.length === 0) return undefined as never;
  if (!(answer.headers["content-type"] ?? "").startsWith("application/json")) return answer.body as never;
  try {
    return JSON.parse(answer.body.toString()) as never;
  } catch {
    throw protocolError("the answer is not JSON");
  }
}

function problemOf(body: Buffer): Partial<Problem> {
  try {
    const problem: unknown = JSON.parse(body.toString());
    return typeof problem === "object" && problem !== null ? problem : {};
  } catch {
    return {};
  }
}

function brokenOff(why: string, cause?: unknown): ServerUnreachable {
  return new ServerUnreachable(why, { code: "server_no_answer", retryable: true, cause });
}

function protocolError(why: string, cause?: unknown): ServerFailed {
  return new ServerFailed(why, { code: "protocol_error", cause });
}

/** What a failure of the connection means. */
function failureOf(error: unknown, host: string): FlowFabricError {
  const { code = "", message, syscall } = error as NodeJS.ErrnoException;
  if (syscall === "connect" || syscall === "getaddrinfo") {
    const why = `no server answers at ${host}: ${message || code}`;
    return new ServerUnreachable(why, { code: "server_unreachable", retryable: true, cause: error });
  }
  if (code.startsWith("HPE_") || code.startsWith("ERR_HTTP")) {
    return protocolError(`the answer is not HTTP as expected: ${message}`, error);
  }
  if (code.startsWith("ERR_INVALID") || code === "ERR_UNESCAPED_CHARACTERS") {
    return new InvalidRequest(`the call cannot be sent: ${message}`, { code: "invalid_argument", cause: error });
  }
  if (/CERT|SIGNATURE|ISSUER|ERR_TLS|ERR_SSL/.test(code)) {
    return new ServerFailed(`the server is not trusted: ${message}`, { code: "server_not_trusted", cause: error });
  }
  return brokenOff(`the connection broke: ${message || code}`, error);
}
