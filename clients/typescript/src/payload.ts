/**
 * What executions carry: JSON values, or any bytes.
 *
 * A value is kept as JSON, a `Uint8Array` as it is, and a `Payload` with the media type that it names. What comes back
 * is decoded by its media type: JSON to its value, everything else to a `Uint8Array`. A value that JSON would change
 * in silence, such as `NaN` or a `Map`, is refused.
 */

import { InvalidRequest } from "./errors.js";

const JSON_TYPE = "application/json";
const BYTES_TYPE = "application/octet-stream";
/** The most that one payload may have; the server refuses more. */
const MAX_BYTES = 1 << 20;

/** Bytes and their media type. */
export class Payload {
  constructor(
    readonly data: Uint8Array,
    readonly contentType: string = BYTES_TYPE,
  ) {}

  /** The decoded value: of JSON what it describes, else the bytes. */
  value(): unknown {
    if (!this.contentType.startsWith(JSON_TYPE)) return this.data;
    try {
      return JSON.parse(new TextDecoder().decode(this.data));
    } catch (error) {
      throw new InvalidRequest(`the payload is not JSON: ${String(error)}`, { code: "bad_payload", cause: error });
    }
  }

  /** Its bytes, as a call carries them: in base64, so that every byte stays as it is. */
  base64(): string {
    return Buffer.from(this.data).toString("base64");
  }
}

/** A value as it is sent and kept. */
export function encode(value: unknown): Payload {
  const payload = payloadOf(value);
  if (payload.data.length > MAX_BYTES) {
    const why = `the payload has ${payload.data.length} bytes; give at most ${MAX_BYTES}, or a reference to more`;
    throw new InvalidRequest(why, { code: "too_large" });
  }
  return payload;
}

function payloadOf(value: unknown): Payload {
  if (value instanceof Payload) return value;
  if (value instanceof Uint8Array) return new Payload(value);
  try {
    return new Payload(Buffer.from(JSON.stringify(value ?? null, refuse)), JSON_TYPE);
  } catch (error) {
    throw new InvalidRequest(`the value is not JSON: ${String(error)}`, { code: "bad_payload", cause: error });
  }
}

/** Refuses what JSON would leave out or replace. */
function refuse(key: string, value: unknown): unknown {
  const where = key === "" ? "it" : JSON.stringify(key);
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${where} is ${value}`);
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`${where} is a ${typeof value}`);
  if (value instanceof Map || value instanceof Set || value instanceof Uint8Array) {
    throw new TypeError(`${where} is a ${value.constructor.name}`);
  }
  return value;
}

/** The value in two fields of an answer: JSON as it is, or base64. */
export function decode(json: unknown, base64: string | null | undefined, contentType?: string | null): unknown {
  if (base64 === null || base64 === undefined) return json ?? null;
  return new Payload(new Uint8Array(Buffer.from(base64, "base64")), contentType ?? BYTES_TYPE).value();
}

/** The bytes of a field that is text or base64. */
export function bytesOf(view: { text?: string | null; base64?: string | null }): Uint8Array {
  if (view.text !== null && view.text !== undefined) return new TextEncoder().encode(view.text);
  return new Uint8Array(Buffer.from(view.base64 ?? "", "base64"));
}
