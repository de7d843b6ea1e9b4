import type { FormPart } from "../contract/call.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import { formParts, type HttpResponse } from "../listener/index.ts";
import type { JsonObject } from "../process/json.ts";
import type { Share } from "./body-budget.ts";

/** Maximum size of a text field of a form. A longer part must be a file. */
const FIELD_BYTES_MAX = 1_048_576;
/** Maximum parts of a form: image edits have up to 16 images and some twenty fields. */
const FORM_PARTS_MAX = 100;

export function bodyTooLarge(bytesMax: number): Refusal {
  const megabytes = bytesMax / 1_048_576;
  return refuse.tooLarge(`The request body is larger than the limit of ${megabytes} MB.`);
}

/** Returns the length that a request declares; undefined if it declares none. */
export function declaredLength(headers: Readonly<Record<string, string>>): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** Returns true if the body is chunked: its length is known only at its end. */
export function isChunked(headers: Readonly<Record<string, string>>): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/**
 * Returns the 400 for a request that a proxy in front may read differently; it could then take part of this body for
 * another client's request. Of two lengths, uWebSockets.js takes the first; a body with an unknown encoding it takes for
 * no body, and trailers for the next request.
 */
export function ambiguity(headers: Readonly<Record<string, string>>): Refusal | undefined {
  const encoding = headers["transfer-encoding"];
  const isKnown = encoding === undefined || encoding.trim().toLowerCase() === "chunked";
  if (!isKnown || headers["content-length"]?.includes(",")) return AMBIGUOUS.end;
  if (headers["trailer"] !== undefined) return AMBIGUOUS.trailers;
  return headers["host"]?.includes(",") ? AMBIGUOUS.host : undefined;
}

const AMBIGUOUS = {
  end: refuse.badRequest(
    "The end of the body is ambiguous: send one content-length, or transfer-encoding: chunked.",
  ),
  trailers: refuse.badRequest("Trailers are not read: end the body with its last chunk."),
  host: refuse.badRequest("The header host is sent twice."),
};

/**
 * A refused body of a declared length is read and discarded up to this size, so that its connection
 * survives.
 */
const DISCARDED_BYTES_MAX = 100 * 1_048_576;

/**
 * Bounds how long a client can go on sending after its reply has left: uWebSockets.js reads on
 * after a reply, without a limit. A paused connection is cut by its idle timeout of 10 s. An
 * immediate close could lose the reply.
 */
export function boundDeclared(res: HttpResponse, length: number | undefined): void {
  if (length !== undefined && length > DISCARDED_BYTES_MAX) res.pause();
}

/**
 * This much of a body is read before its call is admitted: what the socket delivers at once. The rest of a stranger's
 * upload waits until the gateway knows whose memory budget it takes.
 */
const UNADMITTED_BYTES_MAX = 65_536;

/**
 * A request body that is being read. Bytes beyond its limit are not kept.
 *
 * A class, not an object literal with a getter: V8 gives each such literal a hidden class of its own, in old memory,
 * which keeps the whole call alive until the next full collection.
 */
export class Reading {
  private readonly res: HttpResponse;
  private readonly bytesMax: number;
  private readonly onWhole: (body: Buffer) => void;
  private readonly onTooLarge: () => void;
  private readonly share: Share | undefined;
  private readonly onNoRoom: ((refusal: Refusal) => void) | undefined;
  private chunks: Buffer[] | undefined = undefined;
  private bytes = 0;
  private kept = true;
  private over = false;
  private isAdmitted: boolean;
  private isPaused = false;

  constructor(
    res: HttpResponse,
    bytesMax: number,
    onWhole: (body: Buffer) => void,
    onTooLarge: () => void,
    share?: Share,
    onNoRoom?: (refusal: Refusal) => void,
  ) {
    this.res = res;
    this.share = share;
    this.isAdmitted = share === undefined;
    this.onNoRoom = onNoRoom;
    this.bytesMax = bytesMax;
    this.onWhole = onWhole;
    this.onTooLarge = onTooLarge;
  }

  /** Returns true if there is nothing left to read: the body has ended, or passed the limit. */
  get isOver(): boolean {
    return this.over;
  }

  /** Reads the rest of the body: its call is admitted. */
  admit(): void {
    this.isAdmitted = true;
    if (!this.isPaused) return;
    this.isPaused = false;
    this.res.resume();
  }

  /** Drops what was read and keeps nothing more. Still reports the end. */
  discard(): void {
    this.admit();
    this.kept = false;
    this.chunks = undefined;
    this.share?.release();
  }

  add(lent: ArrayBuffer, isLast: boolean): void {
    if (this.over) return;
    this.bytes += lent.byteLength;
    if (this.bytes > this.bytesMax) {
      this.over = true;
      this.chunks = undefined;
      if (!isLast) this.res.pause();
      this.share?.release();
      return this.onTooLarge();
    }
    this.over = isLast;
    const noRoom = this.kept ? this.share?.add(lent.byteLength) : undefined;
    if (noRoom) {
      this.discard();
      this.onNoRoom?.(noRoom);
    }
    if (!this.kept) {
      if (isLast) this.onWhole(NOTHING);
      return;
    }
    // Lent memory: valid until this method returns.
    const chunk = Buffer.from(lent);
    const { chunks } = this;
    if (isLast) {
      const whole = chunks ? Buffer.concat([...chunks, chunk], this.bytes) : Buffer.from(chunk);
      return this.onWhole(whole);
    }
    if (chunks) chunks.push(Buffer.from(chunk));
    else this.chunks = [Buffer.from(chunk)];
    if (this.isAdmitted || this.isPaused || this.bytes < UNADMITTED_BYTES_MAX) return;
    this.isPaused = true;
    this.res.pause();
  }
}

/**
 * Reads a request body and passes it to `onWhole`. Once it exceeds the limit, calls `onTooLarge`
 * instead and stops reading.
 */
export function readBody(
  res: HttpResponse,
  bytesMax: number,
  onWhole: (body: Buffer) => void,
  onTooLarge: () => void,
  share?: Share,
  onNoRoom?: (refusal: Refusal) => void,
): Reading {
  const reading = new Reading(res, bytesMax, onWhole, onTooLarge, share, onNoRoom);
  res.onData((lent, isLast) => reading.add(lent, isLast));
  return reading;
}

const NOTHING = Buffer.alloc(0);

/** Counts boundaries by native search, before the parts are parsed. */
function hasTooManyParts(bytes: Buffer, type: string): boolean {
  const boundary = /boundary="?([^";]+)/.exec(type)?.[1];
  if (boundary === undefined) return false;
  const line = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = bytes.indexOf(line); at !== -1; at = bytes.indexOf(line, at + line.length)) {
    // The last boundary ends the form.
    if (++parts > FORM_PARTS_MAX + 1) return true;
  }
  return false;
}

/** Fields of a form that may be files, and images given as text of any length. */
const FILE_FIELDS = new Set(["image", "image_url", "reference_image", "ref_image", "mask"]);

/**
 * Parses a multipart body. Returns its files, and its text fields as JSON would have them. Refuses
 * what would not be read the same way here and by a provider: a field that comes twice, as a list,
 * or as a file.
 */
export function parseFormBody(
  bytes: Buffer,
  contentType: string,
): { form: FormPart[]; fields: JsonObject } | Refusal {
  // The parser is case-sensitive; HTTP is not.
  const type = contentType.replace(/^multipart\/form-data|\bboundary=/gi, (name) =>
    name.toLowerCase(),
  );
  if (hasTooManyParts(bytes, type)) {
    return refuse.tooLarge(`The form has too many parts: the limit is ${FORM_PARTS_MAX}.`);
  }
  const parts = formParts(bytes, type);
  if (!parts) return refuse.badRequest("The request body is not valid multipart/form-data.");
  const form: FormPart[] = [];
  const fields: JsonObject = {};
  for (const part of parts) {
    const data = Buffer.from(part.data);
    const { name, filename, type } = part;
    const field = /^\w*/.exec(name)?.[0] ?? "";
    if (filename !== undefined) {
      if (!FILE_FIELDS.has(name.replace(/\[\]$/, ""))) {
        return refuse.badRequest(`${field}: must be text, not a file`, field);
      }
      form.push({ name, data, filename, ...(type && { type }) });
      continue;
    }
    if (name.includes("[")) {
      return refuse.badRequest(`${field}: send it once, under its own name without []`, field);
    }
    if (Object.hasOwn(fields, name)) {
      return refuse.badRequest(`${field}: sent twice; send each field once`, field);
    }
    if (data.length > FIELD_BYTES_MAX && !FILE_FIELDS.has(name)) {
      return refuse.badRequest(`${field}: must be at most ${FIELD_BYTES_MAX} bytes`, field);
    }
    const text = data.toString("utf8");
    fields[name] = /^\d{1,9}$/.test(text) ? Number(text) : text === "true" ? true : text;
  }
  return { form, fields };
}
