import type { JsonObject } from "../process/json.ts";

/** Replaces the bytes from `from` to `to` by a text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Returns the bytes of the object `before`, changed to have the fields of `after`: fields with the same value keep their
 * bytes, others are set, added or deleted. Returns a copy even if nothing changes: the memory of both is freed at
 * different times. `fields` holds four numbers for each of `names`: the quotes of the name, and the start and end of the
 * value. `json` returns a field of `after`.
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
  let last = names.length - 1;
  while (last >= 0 && !has(after, names[last] ?? "")) last--;
  for (let at = 0; at <= last; at++) {
    const name = names[at] ?? "";
    const field = 4 * at;
    if (!has(after, name)) {
      // Up to the next name, with the comma between them.
      edits.push({ from: fields[field] ?? 0, to: fields[field + 4] ?? 0, text: "" });
    } else if (after[name] !== before[name]) {
      edits.push({ from: fields[field + 2] ?? 0, to: fields[field + 3] ?? 0, text: json(name) });
    }
  }
  const added: string[] = [];
  for (const name in after) {
    if (has(after, name) && !Object.hasOwn(before, name)) added.push(name);
  }
  if (added.length > 0 || last < names.length - 1) {
    // An object without fields has only whitespace after its brace.
    const start = fields[0] ?? bytes.indexOf("{") + 1;
    const text = added.map((name) => `${JSON.stringify(name)}:${json(name)}`).join(",");
    edits.push({
      from: last === -1 ? start : (fields[4 * last + 3] ?? 0),
      to: fields.at(-1) ?? start,
      text: last !== -1 && added.length > 0 ? `,${text}` : text,
    });
  }
  return edited(bytes, edits);
}

const has = (body: JsonObject, name: string) =>
  Object.hasOwn(body, name) && body[name] !== undefined;

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
