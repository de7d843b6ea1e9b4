import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UsageBooks } from "../../contract/usage-books.ts";
import type { PluginDatabase } from "../../database/plugin-database.ts";
import { packageRoot } from "../../process/root.ts";
import { callOf, callPage } from "./usage-records.ts";
import { usageByKey, usageSums } from "./usage-sums.ts";

const INDEXES = pathToFileURL(join(packageRoot, "core/money/ledger/page-indexes/"));
/** Of the plugin that made these indexes before, so that no database makes them again. */
const RECORDED_BY = "dashboard";

/** The usage records and their daily sums in Postgres. */
export function usageBooksOf(database: PluginDatabase): UsageBooks {
  return {
    prepare: () => database.migrate(RECORDED_BY, INDEXES),
    page: (query) => callPage(database, query),
    call: (accountId, callId) => callOf(database, accountId, callId),
    sums: (accountId, by, filter) => usageSums(database, accountId, by, filter),
    byKey: (accountId, keyIds) => usageByKey(database, accountId, keyIds),
  };
}
