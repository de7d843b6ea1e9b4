import { isAscii } from "node:buffer";
import { make } from "multipasta";
import type { JsonObject } from "../process/json.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

/** One part of a multipart body. */
export interface FormPart {
  readonly name: string;
  readonly data: Buffer;
  /** The name of the file; undefined if the part is a text field. */
  readonly filename?: string;
  readonly type?: string;
}

/** Maximum size of the text fields of a form together. A longer part must be a file, or an image as text. */
const FIELD_BYTES_MAX = 1_048_576;
/** A longer text is ASCII, as base64 is: to decode 20 MB of another text takes 0.1 s. */
const UNICODE_BYTES_MAX = 65_536;
/** Maximum parts of a form: image edits have up to 16 images and some twenty fields. */
const FORM_PARTS_MAX = 100;

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

/** Fields of an image call that give its reference images. */
const REFERENCES = new Set(["image", "images", "image_url", "reference_image", "ref_image"]);
/** Fields of a form that may be files, and images given as text of any length. */
const FILE_FIELDS = new Set([...REFERENCES, "mask"]);

/** Returns true for a field of reference images; a list of them has `[]` behind its name. */
export function isReference(name: string): boolean {
  return REFERENCES.has(oneOf(name));
}

/** Returns the name of one image in a list. PHP numbers them: `image[0]`. */
function oneOf(name: string): string {
  return name.replace(/\[\d{0,3}\]$/, "");
}

/**
 * Parses a multipart body. Returns its files, and its text fields as JSON would have them. Refuses
 * what would not be read the same way here and by a provider: a field that comes twice, or as a file.
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
  let fieldBytes = 0;
  for (const part of parts) {
    const { filename, type } = part;
    const own = oneOf(part.name);
    const isImage = FILE_FIELDS.has(own);
    const isListed = isImage && own !== part.name;
    const name = isListed ? `${own}[]` : part.name;
    // A view: a copy of a large file would take time of other calls.
    const data = Buffer.from(part.data.buffer, part.data.byteOffset, part.data.length);
    const field = /^\w*/.exec(name)?.[0] ?? "";
    if (filename !== undefined) {
      if (!isImage) {
        const instead = "files are sent as image, image[] or mask";
        return refuse.badRequest(`${field}: must be text, not a file; ${instead}`, field);
      }
      form.push({ name, data, filename, ...(type && { type }) });
      continue;
    }
    const isAdded = isListed || (isImage && Array.isArray(fields[name]));
    if (!isAdded && Object.hasOwn(fields, name)) {
      return refuse.badRequest(`${field}: sent twice; send each field once`, field);
    }
    if (!isImage) fieldBytes += data.length;
    if (fieldBytes > FIELD_BYTES_MAX) {
      const fault = data.length > FIELD_BYTES_MAX ? "must be" : "all text fields together must be";
      return refuse.badRequest(`${field}: ${fault} at most ${FIELD_BYTES_MAX} bytes`, field);
    }
    const isLong = isImage && data.length > UNICODE_BYTES_MAX;
    if (isLong && !isAscii(data)) {
      return refuse.badRequest(`${field}: must be a data URL, base64 or an http(s) URL`, field);
    }
    const text = data.toString(isLong ? "latin1" : "utf8");
    if (isAdded) fields[own] = [fields[own] ?? [], text].flat();
    else fields[name] = readField(name, text);
  }
  return { form, fields };
}

const FLAGS = new Map([
  ["true", true],
  ["false", false],
]);

/** Reads a field that is a number or a flag in JSON. All others are text: a prompt may be `2025` or `true`. */
function readField(name: string, text: string): string | number | boolean {
  if (name === "n" && /^\d{1,9}$/.test(text)) return Number(text);
  return name === "stream" ? (FLAGS.get(text.toLowerCase()) ?? text) : text;
}

/** Longer than any boundary: the parser keeps shorter first bytes for later. */
const HEAD_BYTES_MIN = 80;
const HEAD_BYTES_MAX = 4_096;

interface Part extends Omit<FormPart, "data"> {
  readonly data: Uint8Array;
}

/** Parses a multipart body. Returns undefined if it is not multipart. The data is a view of `body` if it can be. */
export function formParts(body: Uint8Array, contentType: string): Part[] | undefined {
  const parts: Part[] = [];
  let isWrong = false;
  let isWhole = false;
  const fail = () => {
    isWrong = true;
  };
  try {
    const parser = make({
      headers: { "content-type": contentType },
      isFile: () => true,
      onField: fail,
      onFile: ({ headers }) => {
        const names = namesIn(headers["content-disposition"]);
        if (!names) fail();
        const chunks: Uint8Array[] = [];
        return (chunk) => {
          if (chunk) return void chunks.push(chunk);
          const data = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
          if (names) parts.push({ ...names, data, ...typeOf(headers) });
        };
      },
      onError: fail,
      onDone: () => {
        isWhole = true;
      },
    });
    const head = headBytes(body, contentType);
    parser.write(body.subarray(0, head));
    parser.write(body.subarray(head));
    parser.end();
  } catch {
    // A file name that is badly escaped.
    return undefined;
  }
  return isWrong || !isWhole ? undefined : parts;
}

/** More than a file's name has on any system, even percent-encoded. */
const DISPOSITION_CHARS_MAX = 4_096;
/** Takes empty parameters together: each match costs as much as some hundred characters. */
const PARAMETER = /(?:;[ \t]*)+(?:([^\s=;"]+)=(?:"((?:\\.|[^"\\])*)"|([^;"]*))[ \t]*)?/gy;

/**
 * Reads the names of a part. The parser's own reading gives up at any letter above U+00FF, as in `ảnh.png`, and would make
 * a text of the file. Returns undefined for a part without a name, or one that could be read in two ways.
 */
function namesIn(disposition: unknown): Pick<FormPart, "name" | "filename"> | undefined {
  if (typeof disposition !== "string") return undefined;
  if (disposition.length > DISPOSITION_CHARS_MAX) return undefined;
  const parameters = disposition.replace(/^[^;]*/, "");
  const given = new Map<string, string>();
  let read = 0;
  for (const [all, key, quoted, bare = ""] of parameters.matchAll(PARAMETER)) {
    read += all.length;
    if (key === undefined) continue;
    const name = key.toLowerCase();
    if (given.has(name)) return undefined;
    given.set(name, quoted?.replace(/\\(["\\])/g, "$1") ?? bare.trim());
  }
  const name = given.get("name");
  if (!name || read < parameters.length) return undefined;
  const filename = decoded(given.get("filename*")) ?? given.get("filename");
  return filename === undefined ? { name } : { name, filename };
}

/** Decodes `UTF-8'vi'%E1%BA%A3nh.png`. Other bytes than UTF-8 stay as they are: it names the file, no more. */
function decoded(extended: string | undefined): string | undefined {
  try {
    return extended && decodeURIComponent(extended.replace(/^[^']*'[^']*'/, ""));
  } catch {
    return extended;
  }
}

/**
 * Returns the length of the first bytes to give to the parser. It copies them and those that they may begin a boundary
 * with, and would copy a whole body of 20 MB. So these are few, and end with a byte that is in no boundary of the form.
 */
function headBytes(body: Uint8Array, contentType: string): number {
  const boundary = new Set(Buffer.from(`\r\n-${contentType.split("boundary=").at(-1)}`));
  const least = Math.min(body.length, HEAD_BYTES_MIN);
  const end = Math.min(body.length, HEAD_BYTES_MAX);
  for (let at = least; at < end; at++) if (!boundary.has(body[at - 1] ?? 0)) return at;
  return body.length;
}

function typeOf(headers: Readonly<Record<string, unknown>>): { type?: string } {
  const type = headers["content-type"];
  return typeof type === "string" ? { type } : {};
}
