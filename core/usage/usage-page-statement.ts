import type { Parameter } from "../database/database.ts";
import { fieldsIn, usageColumns } from "../money/usage-fields.ts";
import type { UsageCursor, UsageFilter } from "./books.ts";

/** The columns that customers may see. */
const RECORD_COLUMNS = usageColumns(fieldsIn("api"), "record");
export const SOUND = 200;
/** The planner does not see the number, so it takes the page for a tenth of the matches, however few it expects. */
const LIMIT = "limit (select $2::bigint)";
/** More calls than an account makes in a millisecond: those of the page's oldest one are sorted once they are read. */
const LIMIT_WITH_TIES = "limit (select $2::bigint + 10000)";

interface Statement {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/**
 * Returns the statement for one page of calls. `statuses`: one for each part of the page; undefined keeps the filter's.
 *
 * The indexes alone first say how far back the page goes, then its calls are read, each from a place of its own. So a page
 * of several statuses reads no call that it does not show. Calls at the very time of the cursor are not counted there, as
 * most indexes have no call id: if there are some, they are read beside a whole page.
 *
 * Postgres must read both in the order of the filter's index, whatever it expects of the values:
 *
 * - Often it expects matches among the newest calls and reads all of them: half a million for a key that was busy last
 *   week. With one filter, the order therefore begins with the filter's column, compared by `any` so that it is not taken as
 *   a constant: then only the indexes of that filter fit. The same for failed calls of a model or a key, which have smaller
 *   indexes of their own. With a model and a key, all indexes that fit begin with the key.
 * - Of an account that is not among the largest, it expects few calls, and fewer for each filter more. Then it would read
 *   all of them and sort. It does not if the page is a part of the calls to it (see `LIMIT`), and if it does not see the values:
 *   it plans for an average account, as a tenth of a very large one would seem more work than to sort a whole table.
 * - A key is of one account, which it does not know, so the account is checked once the rows are found.
 *
 * The calls of a member are those of his keys, each with a part of its own: they are joined by place, not in one scan.
 */
export function pageStatement(
  accountId: string,
  filter: UsageFilter,
  statuses: readonly (number | undefined)[],
  limit: number,
  before?: UsageCursor | undefined,
): Statement {
  const parameters: Parameter[] = [accountId, limit];
  const given = (["model", "key", "status"] as const).filter((name) => filter[name] !== undefined);
  const isOfMember = filter.member !== undefined;
  // Sound calls have no index by status: see `statusIs`.
  const [first] = given.filter((name) => name !== "status" || !statuses.includes(SOUND));
  const leading = given.includes("key") || isOfMember ? "key" : (first ?? "account");
  const equal = (column: keyof typeof COLUMN_TYPES, value: string) => {
    const [name, type] = COLUMN_TYPES[column];
    const hidden = `(select ${value}::${type})`;
    return column === leading ? `${name} = any (array[${hidden}])` : `${name} = ${hidden}`;
  };
  const statusIs = (status: number) => {
    if (leading === "status") return `record.status = any (array[${status}::smallint])`;
    // Nearly all calls are sound: the index of those of the account is no help. `is true` fits no index.
    return status === SOUND ? `(record.status = ${SOUND}) is true` : `record.status = ${status}`;
  };
  const conditions = leading === "key" ? [] : [equal("account", "$1")];
  const must = (condition: (value: string) => string, value: Parameter) =>
    conditions.push(condition(`$${parameters.push(value)}`));
  if (filter.from) must((from) => `at >= ${from}`, filter.from);
  if (filter.to) must((to) => `at < ${to}`, filter.to);
  if (filter.model !== undefined) must((model) => equal("model", model), filter.model);
  if (filter.key !== undefined) must((key) => equal("key", key), filter.key);
  if (filter.member !== undefined) conditions.push("record.key_id = used.id");
  const older: string[] = [];
  let beforeAt: readonly string[] = [];
  if (before) {
    const [at, callId] = [parameters.push(before.at), parameters.push(before.callId)];
    beforeAt = [`at < $${at}`];
    // The first condition finds the place in the index, and excludes the partitions of later months.
    older.push(`at <= $${at}`, `(at, call_id) < ($${at}, $${callId})`);
  }
  const order = `${leading === "status" ? "record.status" : COLUMN_TYPES[leading][0]}, at desc`;
  const used = isOfMember ? `$${parameters.push(filter.member ?? "")}` : undefined;
  const part = (columns: string, end: string, own: readonly string[]) => {
    const ofOne = `select ${columns} from usage_records record
    where ${[...conditions, ...own].join(" and ")} order by ${order} ${end}`;
    if (used === undefined) return ofOne;
    return `select found.* from unnest(${keysOfMember(used)}) used (id) cross join lateral (${ofOne}) found`;
  };
  const times: string[] = [];
  const calls: string[] = [];
  for (const status of statuses) {
    const own = status === undefined ? [] : [statusIs(status)];
    times.push(part("at", LIMIT, [...beforeAt, ...own]));
    const newer = "at >= (select at from oldest)";
    const found = part("*", LIMIT_WITH_TIES, [...older, newer, ...own]);
    calls.push(`select ${RECORD_COLUMNS} from (${found}) record where account_id = $1`);
  }
  const text = `with oldest (at) as materialized (
    select coalesce(min(at), '-infinity') from (
      select at from ((${times.join(") union all (")})) found order by at desc limit $2
    ) page
  )
  select * from ((${calls.join(") union all (")})) page
  order by at desc, "callId" desc limit $2`;
  return { text, parameters };
}

const COLUMN_TYPES = {
  account: ["account_id", "uuid"],
  model: ["model", "text"],
  key: ["key_id", "uuid"],
} as const;

/** Returns the SQL for the ids of the keys that a member uses. `member`: the name of a parameter. */
export function keysOfMember(member: string): string {
  return `array(select id from api_keys where member_id = ${member}::uuid)`;
}
