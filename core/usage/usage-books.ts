import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PluginDatabase } from "../database/plugin-database.ts";
import { packageRoot } from "../process/root.ts";
import type { UsageBooks } from "./books.ts";
import { modelHealth } from "./model-health.ts";
import { refusedCalls } from "./refused-calls.ts";
import { statementOf } from "./statement.ts";
import { archivedBefore, archivedCall } from "./usage-archived.ts";
import { callOf, callPage } from "./usage-records.ts";
import { usageByKey, usageSums } from "./usage-sums.ts";

const INDEXES = pathToFileURL(join(packageRoot, "core/usage/page-indexes/"));

/** Reads usage records and their daily sums from Postgres. */
export function usageBooksOf(database: PluginDatabase): UsageBooks {
  return {
    prepare: () => database.migrate("page-indexes", INDEXES),
    page: (query) => callPage(database, query),
    archivedBefore: (accountId, period) => archivedBefore(database, accountId, period),
    archivedCall: (accountId, callId) => archivedCall(database, accountId, callId),
    call: (accountId, callId) => callOf(database, accountId, callId),
    refused: (accountId, filter) => refusedCalls(database, accountId, filter),
    sums: (accountId, by, filter) => usageSums(database, accountId, by, filter),
    statement: (accountId, from, to) => statementOf(database, accountId, from, to),
    byKey: (accountId, keyIds) => usageByKey(database, accountId, keyIds),
    health: (since) => modelHealth(database, since),
  };
}
