import type { Services } from "../../core/plugin/index.ts";
import { changesBetween, inEffect, type PriceChange, type PriceEntry } from "./changes.ts";

type Database = Services["database"];
type Cause = Services["reloads"]["cause"];

/** A change as the history has it. */
export interface RecordedChange extends PriceChange {
  readonly id: bigint;
  readonly at: Date;
  readonly operator: string;
  readonly remoteAddress: string;
}

/**
 * Compares the prices of this process with those that were recorded last, and records the difference as one step. Returns
 * it; nothing the first time, when all is new. Of two gateways that record the same change at once, one does.
 */
export async function recordPrices(
  database: Database,
  list: readonly PriceEntry[],
  cause: Cause,
  nowMs: number,
): Promise<readonly PriceChange[]> {
  for (;;) {
    const [row] = await database.query<{ revision: bigint; entries: string }>(
      "select revision, entries from price_list",
    );
    if (!row) throw new Error("the table price_list has no row; insert the one of its migration");
    const known: readonly PriceEntry[] = JSON.parse(row.entries);
    const changes = changesBetween(inEffect(known, nowMs), list);
    if (changes.length === 0) return changes;
    const [recorded] = await database.query<{ count: number }>(
      `with taken as (
        update price_list set revision = revision + 1, entries = $2 where revision = $1 returning revision
      ),
      recorded as (
        insert into price_changes (
          operator, remote_address, change, model, kind, unit, before, after, takes_effect
        )
        select $3, $4, change, model, kind, unit, before, after, "takesEffect"
        from json_to_recordset($5::text::json) as given (
          change text, model text, kind text, unit text, before bigint, after bigint, "takesEffect" timestamptz
        ), taken
        returning id
      )
      select count(*)::integer as count from recorded`,
      [
        row.revision,
        JSON.stringify(list),
        cause.operator,
        cause.remoteAddress,
        JSON.stringify(changes),
      ],
    );
    if (recorded && recorded.count > 0) return known.length === 0 ? [] : changes;
  }
}

/** Returns changes, newest first: of one model, or of all. */
export async function readHistory(
  database: Database,
  { model, limit, before }: { model?: string; limit: number; before?: bigint },
): Promise<RecordedChange[]> {
  const rows = await database.query<
    Omit<RecordedChange, "takesEffect" | "before" | "after"> & {
      readonly before: bigint | null;
      readonly after: bigint | null;
      readonly takesEffect: Date | null;
    }
  >(
    `select id, at, operator, remote_address as "remoteAddress", change, model, kind, unit, before, after,
      takes_effect as "takesEffect"
    from price_changes
    where ($1::text is null or model = $1) and ($2::bigint is null or id < $2)
    order by id desc limit $3`,
    [model ?? null, before ?? null, limit],
  );
  return rows.map(({ before: old, after, takesEffect, ...row }) => ({
    ...row,
    before: old === null ? null : Number(old),
    after: after === null ? null : Number(after),
    takesEffect: takesEffect?.toISOString() ?? null,
  }));
}

/** Returns the last reload that an operator has asked for; undefined if there was none. */
export async function lastReload(
  database: Database,
): Promise<(Cause & { id: bigint }) | undefined> {
  const [row] = await database.query<Cause & { id: bigint }>(
    `select id, operator, remote_address as "remoteAddress" from reloads order by id desc limit 1`,
  );
  return row;
}

/** Asks the other gateways to reload. Returns the id of the request. */
export async function askOthers(database: Database, cause: Cause): Promise<bigint> {
  const [row] = await database.query<{ id: bigint }>(
    "insert into reloads (operator, remote_address) values ($1, $2) returning id",
    [cause.operator, cause.remoteAddress],
  );
  if (!row) throw new Error("the database did not record a reload");
  return row.id;
}
