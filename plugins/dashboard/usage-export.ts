import {
  type CustomerRoute,
  dayOf,
  isRefusal,
  type Refusal,
  readQuery,
  refuse,
  type Services,
  type UsageCursor,
  type UsageFilter,
} from "../../core/contract/index.ts";
import { withKeyNames } from "./call-record.ts";
import { csvHead, csvRow, type Decimal } from "./csv.ts";
import { exportInput } from "./usage-input.ts";

/** Records of one statement: some 300 KB of CSV, and few enough that the embedded database serves others too. */
const PAGE = 1000;

/**
 * `GET /account/v1/usage.csv`: the calls that pass the filter, newest first, as a file. Read page by page, as
 * fast as the client takes them: a million records need no more memory than a thousand.
 */
export function exportRoute(services: Services, exportsPerAccountMax: number): CustomerRoute {
  const open = new Map<string, number>();

  return {
    method: "GET",
    path: "/usage.csv",
    async handle({ query }, { accountId }) {
      const input = readQuery(exportInput, query);
      if (isRefusal(input)) return input;
      if ((open.get(accountId) ?? 0) >= exportsPerAccountMax) return tooMany(exportsPerAccountMax);
      const { decimal, ...filter } = input;
      const name = `usage-${dayOf(new Date(services.clock.now()))}.csv`;
      return {
        status: 200,
        headers: [
          "content-type",
          "text/csv; charset=utf-8",
          "content-disposition",
          `attachment; filename="${name}"`,
          "cache-control",
          "no-store",
          "x-content-type-options",
          "nosniff",
        ],
        body: counted(open, accountId, rows(services, accountId, filter, decimal)),
      };
    },
  };
}

/** Counts an export from its first read to its end: a reply whose client has left already is never read. */
async function* counted(
  open: Map<string, number>,
  accountId: string,
  chunks: AsyncIterable<string>,
): AsyncGenerator<string> {
  open.set(accountId, (open.get(accountId) ?? 0) + 1);
  try {
    yield* chunks;
  } finally {
    const left = (open.get(accountId) ?? 1) - 1;
    if (left > 0) open.set(accountId, left);
    else open.delete(accountId);
  }
}

async function* rows(
  services: Services,
  accountId: string,
  filter: UsageFilter,
  decimal: Decimal,
): AsyncGenerator<string> {
  yield csvHead(decimal);
  let before: UsageCursor | undefined;
  do {
    const page = await services.usage.page({ accountId, filter, limit: PAGE, before });
    if (page.length > 0) {
      const records = await withKeyNames(services, page);
      yield records.map((record) => csvRow(record, decimal)).join("");
    }
    before = page.length === PAGE ? page.at(-1) : undefined;
  } while (before);
}

function tooMany(max: number): Refusal {
  return refuse.rateLimited(
    `There are ${max} exports of this account under way: wait for one of them to end.`,
    { code: "too_many_exports", headers: ["retry-after", "10"] },
  );
}
