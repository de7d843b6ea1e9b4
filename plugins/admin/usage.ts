import {
  done,
  formatVnd,
  isId,
  isRefusal,
  type OperatorRoute,
  readQuery,
  type Services,
  type UsageRecord,
} from "../../core/contract/index.ts";
import { usagePage } from "./input.ts";
import { unknownAccount } from "./unknown.ts";

/**
 * The calls of an account, newest first, a page at a time: `limit` records, and then those `before` the last
 * one, named by its `at` and `call_id` with a comma between them.
 */
export function usageRoutes({ accounts, ledger }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/accounts/:account/usage",
      async handle({ params, query }) {
        const accountId = params["account"] ?? "";
        const page = readQuery(usagePage, query);
        if (isRefusal(page)) return page;
        if (!isId(accountId)) return unknownAccount(accountId);
        const { limit, before } = page;
        const records = await ledger.usage({ accountId, limit, ...(before && { before }) });
        if (records.length === 0 && !(await accounts.find(accountId))) {
          return unknownAccount(accountId);
        }
        return done(records.map(recordOf));
      },
    },
  ];
}

/** A usage record as it is answered. */
export function recordOf(record: UsageRecord): object {
  return {
    call_id: record.callId,
    at: record.at.toISOString(),
    model: record.model,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cost_vnd: formatVnd(record.chargedMicroVnd),
    latency_ms: record.latencyMs,
    status: record.status,
    key_id: record.keyId,
    endpoint: record.endpoint,
    mapped_from: record.mappedFrom,
    upstream: record.upstream,
    cache_read_tokens: record.cacheReadTokens,
    cache_write_tokens: record.cacheWriteTokens,
    reasoning_tokens: record.reasoningTokens,
    images: record.images,
    written_off_vnd: formatVnd(record.writtenOffMicroVnd),
    discount_bps: record.discountBps,
    first_byte_ms: record.firstByteMs,
    streamed: record.streamed,
    outcome: record.outcome,
    estimated: record.estimated,
  };
}
