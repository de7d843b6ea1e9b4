import { isObject, type JsonObject } from "../../../core/plugin/index.ts";
import { csvLine } from "../../page-parts/browser/csv.ts";

/** Yields the lines of a CSV: the names of the first item's fields, then those fields of each item. */
export async function* csvOf(
  items: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<string> {
  let names: string[] | undefined;
  for await (const item of items) {
    const row: JsonObject = isObject(item) ? item : { value: item };
    if (!names) {
      names = Object.keys(row);
      yield csvLine(names);
    }
    yield csvLine(names.map((name) => row[name]));
  }
}
