/**
 * Sends what a task streams: gathered for a moment, in order, and once.
 *
 * Frames go under their numbers, so a call whose answer was lost is repeated and adds nothing twice. A handler that
 * streams faster than the server takes it waits for room.
 */

import type { FrameBody } from "./api.js";
import { FlowFabricError, PermanentError } from "./errors.js";
import { log } from "./log.js";
import { pause } from "./time.js";

/** How long frames are gathered for one call. */
const GATHER_MS = 20;
/** How many bytes are, and the most that one frame has. */
export const GATHER_BYTES = 64 << 10;
const GATHER_FRAMES = 1000;
/** How many bytes wait to be sent. */
const ROOM = 1 << 20;
const OVERHEAD = 64;
/** How long the end of a task waits for its frames. */
const LAST_FRAMES_MS = 5_000;

interface Frame {
  type: string;
  parts: Uint8Array[];
  size: number;
  grows: boolean;
}

/** Adds frames from this number on, or asks where the stream ends; answers the next number. */
export type Append = (first: number | undefined, frames: FrameBody[]) => Promise<number>;

/** Sends the frames of one task. */
export class Emitter {
  #next: number | undefined;
  #waiting: Frame[] = [];
  #size = 0;
  #failed: unknown;
  #sending: Promise<void> | undefined;
  #hurry = new AbortController();
  #room: (() => void)[] = [];

  /** The first hold of an execution `begins` its stream; a later one asks where that ends. */
  constructor(
    private readonly append: Append,
    begins: boolean,
  ) {
    this.#next = begins ? 0 : undefined;
  }

  /** Takes a frame, once there is room for it. One that grows continues the one before, of its type. */
  async add(type: string, data: Uint8Array, grows: boolean): Promise<void> {
    if (data.length > GATHER_BYTES) {
      const why = `a frame has ${data.length} bytes; give at most ${GATHER_BYTES}`;
      throw new PermanentError(why, { category: "too_large" });
    }
    for (;;) {
      if (this.#failed !== undefined) throw this.#failed;
      if (this.#size === 0 || this.#size + data.length + OVERHEAD <= ROOM) break;
      await new Promise<void>((resolve) => this.#room.push(resolve));
    }
    const last = this.#waiting.at(-1);
    if (grows && last?.grows && last.type === type && last.size + data.length <= GATHER_BYTES) {
      last.parts.push(data);
      last.size += data.length;
      this.#size += data.length;
    } else {
      this.#waiting.push({ type, parts: [data], size: data.length, grows });
      this.#size += data.length + OVERHEAD;
    }
    this.#start();
  }

  /** Waits, for a bounded time, until what was added is acknowledged, or never will be. */
  async flush(): Promise<void> {
    this.#hurry.abort();
    this.#start();
    const timer = new AbortController();
    await Promise.race([this.#sending, pause(LAST_FRAMES_MS, timer.signal)]);
    timer.abort();
    this.#hurry = new AbortController();
  }

  #start(): void {
    if (this.#sending !== undefined || this.#waiting.length === 0) return;
    this.#sending = this.#sendAll().finally(() => (this.#sending = undefined));
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.#size < GATHER_BYTES) await pause(GATHER_MS, this.#hurry.signal);
      const frames = this.#take();
      try {
        await this.#send(frames.map(bodyOf));
        this.#size -= frames.reduce((sum, frame) => sum + frame.size + OVERHEAD, 0);
      } catch (error) {
        if (error instanceof FlowFabricError) log(`what the task streams is not kept: ${error.message} (${error.code})`);
        this.#failed = error;
        this.#waiting = [];
        this.#size = 0;
      }
      this.#room.splice(0).forEach((resume) => resume());
    }
  }

  /** The frames of the next call; always one at least. */
  #take(): Frame[] {
    let size = 0;
    let count = 0;
    for (const frame of this.#waiting.slice(0, GATHER_FRAMES)) {
      if (count > 0 && size + frame.size > GATHER_BYTES) break;
      size += frame.size;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #send(frames: FrameBody[]): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      this.#next ??= await this.append(undefined, []);
      try {
        this.#next = await this.append(this.#next, frames);
        return;
      } catch (error) {
        if (tries > 0 || !(error instanceof FlowFabricError) || error.code !== "frame_gap") throw error;
        // Others have sent for this task too: it asks again where the stream ends.
        this.#next = undefined;
      }
    }
  }
}

function bodyOf(frame: Frame): FrameBody {
  const data = Buffer.concat(frame.parts);
  try {
    return { type: frame.type, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data) };
  } catch {
    return { type: frame.type, base64: data.toString("base64") };
  }
}
