import { setImmediate } from "node:timers/promises";
import {
  type CustomerRoute,
  dayOf,
  type Refusal,
  reading,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import type { Decimal } from "../page-parts/browser/csv.ts";
import { Downloads, fileHeaders } from "../page-parts/downloads.ts";
import { type CallRecord, withKeyNames } from "./call-record.ts";
import { csvHead, csvRow } from "./csv.ts";
import { ExportTurns } from "./export-turns.ts";
import { seenBy } from "./usage.ts";
import { exportInput, type UsageCursor, type UsageFilter } from "./usage-input.ts";

/**
 * Records per SQL statement, about 75 KB of CSV. More would block other users of the embedded database, and takes a
 * large one longer than 200 ms if the records come from its disk.
 */
const PAGE = 250;
/**
 * Records that are converted to text before calls get their turn: 0.5 ms, and less than one packet
 * buffer.
 */
const SLICE = 50;

/**
 * `GET /account/v1/usage.csv`: the calls that match the filter as a CSV file, newest first. Reads a
 * page at a time, as fast as the client downloads, so a million records need no more memory than a
 * thousand. If the operator has archived calls of the period, the file lacks those before the time in
 * `x-archived-before`.
 */
export function exportRoute(services: Services, exportsPerAccountMax: number): CustomerRoute {
  const downloads = new Downloads(exportsPerAccountMax);
  const turns = new ExportTurns(services.clock);

  async function* text(accountId: string, filter: UsageFilter, decimal: Decimal) {
    yield csvHead(decimal);
    for await (const records of pages(accountId, filter)) {
      for (let at = 0; at < records.length; at += SLICE) {
        const slice = records.slice(at, at + SLICE);
        yield slice.map((record) => csvRow(record, decimal)).join("");
        await setImmediate();
      }
    }
  }

  async function* pages(accountId: string, filter: UsageFilter): AsyncGenerator<CallRecord[]> {
    let before: UsageCursor | undefined;
    do {
      const page = await turns.take(() =>
        services.usage.page({ accountId, filter, limit: PAGE, before }),
      );
      if (page.length > 0) yield await withKeyNames(services, page);
      before = page.length === PAGE ? page.at(-1) : undefined;
    } while (before);
  }

  return {
    method: "GET",
    path: "/usage.csv",
    forMembers: true,
    handle: reading(exportInput, async (input, _, customer) => {
      const { accountId, member } = customer;
      const person = member?.ownAccountId ?? accountId;
      if (downloads.isFull(person)) return tooMany(exportsPerAccountMax);
      const { decimal, ...given } = input;
      const filter = seenBy(customer, given);
      const archivedBefore = await services.usage.archivedBefore(accountId, filter);
      const name = `usage-${dayOf(new Date(services.clock.now()))}.csv`;
      return {
        status: 200,
        headers: [
          ...fileHeaders(name),
          ...(archivedBefore ? ["x-archived-before", archivedBefore.toISOString()] : []),
        ],
        body: downloads.counted(person, text(accountId, filter, decimal)),
      };
    }),
  };
}

function tooMany(max: number): Refusal {
  return refuse.rateLimited(
    `This account has ${max} exports in progress. Wait for one to finish.`,
    { code: "too_many_exports", headers: ["retry-after", "10"] },
  );
}
