import { arrayOf, isObject, type JsonObject } from "../../../core/plugin/index.ts";
import type { Client } from "./client.ts";
import { given, type Output } from "./command.ts";

const PAGE = 1000;

/**
 * Fetches a list from the API page by page, whole or up to `limit` items. `cursor` returns the query for the page after
 * an item. Fetches the first page at once, so that a refusal is not printed after part of a list.
 */
export async function list(
  client: Client,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  limit: string | undefined,
  cursor: (last: JsonObject) => Record<string, string>,
): Promise<Output> {
  const most = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  const page = async (count: number, from: Record<string, string>) => {
    const asked = { ...given(query), ...from, limit: String(Math.min(count, PAGE)) };
    return arrayOf(await client.get(path, asked));
  };
  return { kind: "list", items: pages(await page(most, {})) };

  async function* pages(first: readonly unknown[]): AsyncGenerator<unknown> {
    let left = most;
    let now = first;
    for (;;) {
      yield* now;
      left -= now.length;
      const last = now.at(-1);
      if (left <= 0 || now.length < PAGE || !isObject(last)) return;
      now = await page(left, cursor(last));
    }
  }
}
