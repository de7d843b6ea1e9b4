import { isObject, type JsonObject } from "../../../core/plugin/index.ts";

/** Yields the lines of a CSV: the names of the first item's fields, then those fields of each item. */
export async function* csvOf(
  items: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<string> {
  let names: string[] | undefined;
  for await (const item of items) {
    const row: JsonObject = isObject(item) ? item : { value: item };
    if (!names) {
      names = Object.keys(row);
      yield names.map(quoted).join(",");
    }
    yield names.map((name) => fieldOf(row[name])).join(",");
  }
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return quoted(JSON.stringify(value));
  if (typeof value !== "string" || NUMBER.test(value)) return String(value);
  return quoted(value.replace(FORMULA, "'$&"));
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;
/** A spreadsheet runs a text that begins like this as a formula, and customers choose the names of keys. */
const FORMULA = /^[ \t\r\n]*[=+\-@]|^[\t\r]/;

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
