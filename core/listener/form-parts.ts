import { make } from "multipasta";

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
    parser.write(body);
    parser.end();
  } catch {
    // A file name that is badly escaped.
    return undefined;
  }
  return isWrong || !isWhole ? undefined : parts;
}

function typeOf(headers: Readonly<Record<string, unknown>>): { type?: string } {
  const type = headers["content-type"];
  return typeof type === "string" ? { type } : {};
}
