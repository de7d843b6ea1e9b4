import { isObject } from "../../../core/plugin/index.ts";
import type { Output } from "./command.ts";
import { csvOf } from "./csv.ts";
import { Sheet } from "./table.ts";

/** Resolves once the text is on its way: a list is not fetched faster than it is read. */
export type Write = (text: string) => Promise<void>;

/** Tables of a width in characters for people, `csv` for spreadsheets, `indented` JSON, or `compact` JSON on one line. */
type Form = { readonly width: number } | "csv" | "indented" | "compact";

/**
 * Prints the output of a command. Prints each item of a list as it arrives, so that long lists need
 * no memory.
 */
export async function print(output: Output, form: Form, write: Write): Promise<void> {
  if (typeof form === "object") {
    const shown = output.kind === "list" ? output.items : output.value;
    for await (const line of new Sheet(form.width).linesOf(shown)) await write(`${line}\n`);
    return;
  }
  if (form === "csv") {
    for await (const line of csvOf(itemsOf(output))) await write(`${line}\n`);
    return;
  }
  const isCompact = form === "compact";
  const indent = isCompact ? 0 : 2;
  if (output.kind === "value") {
    await write(`${jsonOf(output.value, indent)}\n`);
    return;
  }
  let isFirst = true;
  for await (const item of output.items) {
    const text = jsonOf(item, indent);
    const shown = isCompact ? text : `\n  ${text.replaceAll("\n", "\n  ")}`;
    await write(`${isFirst ? "[" : ","}${shown}`);
    isFirst = false;
  }
  await write(isFirst ? "[]\n" : isCompact ? "]\n" : "\n]\n");
}

/** Returns the items of a list, the last list of an object, or the object itself if it has none. */
function itemsOf(output: Output): AsyncIterable<unknown> | Iterable<unknown> {
  if (output.kind === "list") return output.items;
  const { value } = output;
  if (Array.isArray(value)) return value;
  const lists = isObject(value) ? Object.values(value).filter(Array.isArray) : [];
  return lists.at(-1) ?? [value];
}

/**
 * Returns JSON in which control and format characters are escaped: a terminal acts on some, and texts may come from
 * customers and banks.
 */
function jsonOf(value: unknown, indent: number): string {
  const text = String(JSON.stringify(value, null, indent));
  return text.replace(RAW_IN_JSON, (found) =>
    [...Array(found.length).keys()]
      .map((n) => `\\u${found.charCodeAt(n).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** JSON escapes the others itself; the line feed is its own indent. */
const RAW_IN_JSON = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;
