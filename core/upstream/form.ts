import { randomBytes } from "node:crypto";
import type { FormPart } from "../plugin/call.ts";

/** Encodes multipart/form-data; fields in `set` replace parts of the same name. */
export function encodeForm(
  parts: readonly FormPart[],
  set: Readonly<Record<string, string>>,
): { contentType: string; body: Buffer } {
  const boundary = `tollgate-${randomBytes(16).toString("hex")}`;
  const pieces: Buffer[] = [];
  const kept = parts.filter((part) => !(part.name in set));
  const added = Object.entries(set).map(([name, value]) => ({ name, data: Buffer.from(value) }));
  for (const part of [...added, ...kept] as FormPart[]) {
    let head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(part.name)}"`;
    if (part.filename !== undefined) head += `; filename="${quoted(part.filename)}"`;
    if (part.type !== undefined) head += `\r\ncontent-type: ${part.type.replace(/[\r\n]/g, "")}`;
    pieces.push(Buffer.from(`${head}\r\n\r\n`), part.data, Buffer.from("\r\n"));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat(pieces),
  };
}

/** Percent-encodes quotes and line breaks in names, as browsers do. */
function quoted(text: string): string {
  return text.replace(/"/g, "%22").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
}
