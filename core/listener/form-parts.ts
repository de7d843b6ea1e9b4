import { make } from "multipasta";

/** Longer than any boundary: the parser keeps shorter first bytes for later. */
const HEAD_BYTES_MIN = 80;
const HEAD_BYTES_MAX = 4_096;

/** A part of a multipart form. */
interface Part {
  readonly name: string;
  readonly data: Uint8Array;
  /** The name of the file; undefined if the part is a text field. */
  readonly filename?: string;
  /** The media type that the part states. */
  readonly type?: string;
}

/** Parses a multipart body. Returns undefined if it is not multipart. The data is a view of `body` if it can be. */
export function formParts(body: Uint8Array, contentType: string): Part[] | undefined {
  const parts: Part[] = [];
  let isWrong = false;
  let isWhole = false;
  try {
    const parser = make({
      headers: { "content-type": contentType },
      isFile: ({ filename }) => filename !== undefined,
      maxFieldSize: Number.POSITIVE_INFINITY,
      onField: ({ name, headers }, data) => parts.push({ name, data, ...typeOf(headers) }),
      onFile: ({ name, filename = "", headers }) => {
        const chunks: Uint8Array[] = [];
        return (chunk) => {
          if (chunk) return void chunks.push(chunk);
          const data = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
          parts.push({ name, data, filename, ...typeOf(headers) });
        };
      },
      onError: () => {
        isWrong = true;
      },
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
