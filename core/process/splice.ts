import type { JsonObject } from "./json.ts";

/** Replaces the bytes from `from` to `to` by a text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Returns the bytes of the object `before`, changed to have the fields of `after`: fields with the same value keep their
 * bytes, others are set, added or deleted. Returns the given bytes if nothing changes. `fields` holds four numbers for
 * each of `names`: the quotes of the name, and the start and end of the value. `json` returns a field of `after`.
 */
export function spliced(
  bytes: Buffer,
  fields: readonly number[],
  names: readonly string[],
  before: JsonObject,
  after: JsonObject,
  json: (name: string) => string,
): Buffer {
  const edits: Edit[] = [];
  const has = (name: string) => Object.hasOwn(after, name) && after[name] !== undefined;
  let last = -1;
  for (let at = 0; at < names.length; at++) if (has(names[at] ?? "")) last = at;
  for (let at = 0; at <= last; at++) {
    const name = names[at] ?? "";
    const [from = 0, , valueFrom = 0, to = 0] = fields.slice(4 * at, 4 * at + 4);
    // Up to the next name, with the comma between them.
    if (!has(name)) edits.push({ from, to: fields[4 * at + 4] ?? 0, text: "" });
    else if (after[name] !== before[name]) edits.push({ from: valueFrom, to, text: json(name) });
  }
  const added = Object.keys(after).filter((name) => has(name) && !Object.hasOwn(before, name));
  if (added.length > 0 || last < names.length - 1) {
    // An object without fields has nothing but whitespace behind its brace.
    const start = fields[0] ?? bytes.indexOf("{") + 1;
    const text = added.map((name) => `${JSON.stringify(name)}:${json(name)}`).join(",");
    edits.push({
      from: last === -1 ? start : (fields[4 * last + 3] ?? 0),
      to: fields.at(-1) ?? start,
      text: last !== -1 && added.length > 0 ? `,${text}` : text,
    });
  }
  return edits.length === 0 ? bytes : edited(bytes, edits);
}

/** Applies edits, which are in the order of the bytes. */
function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const { from, to, text } of edits) size += Buffer.byteLength(text) - (to - from);
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  let copied = 0;
  for (const { from, to, text } of edits) {
    at += bytes.copy(out, at, copied, from);
    at += out.write(text, at);
    copied = to;
  }
  bytes.copy(out, at, copied);
  return out;
}
