import { formatVnd } from "../catalogue/amount.ts";
import { statedOf } from "../catalogue/price-factors.ts";
import type { EndedCall, Held } from "../plugin/call.ts";
import type { Clock } from "../process/clock.ts";
import type { LineLog } from "../process/log.ts";

const PID = process.pid;

/**
 * Logs one line per call, in pino's form: the fields of its usage record, never a prompt, a reply or a key. Builds the
 * line here, because all values but one need no escaping: 1 µs instead of pino's 4.
 */
export function logCall(call: EndedCall, clock: Clock, log: LineLog): void {
  if (!log.isLevelEnabled("info")) return;
  const { usage, model, route, mappedFrom, held } = call;
  const key = call.key ?? call.refusedKey;
  const latencyMs = Math.round(call.endedMs - call.startedMs);
  let line = `{"level":30,"time":${clock.now()},"pid":${PID},"call_id":"${call.id}"`;
  if (key) line += `,"account_id":"${key.accountId}","key_id":"${key.id}"`;
  line += `,"endpoint":"${call.endpoint.path}"`;
  if (model) line += `,"model":"${model.id}"`;
  // The caller may have sent any text as a name.
  if (mappedFrom !== null) line += `,"mapped_from":${JSON.stringify(mappedFrom)}`;
  if (route) line += `,"upstream":"${route.upstream}","attempts":${call.attempts}`;
  // The reason may come from a plugin that brings credentials.
  if (call.failedAttempts.length > 0) {
    line += `,"failed_attempts":${JSON.stringify(call.failedAttempts)}`;
  }
  line +=
    `,"input_tokens":${usage ? usage.inputTokens : 0},"output_tokens":${usage ? usage.outputTokens : 0}` +
    `,"cost_vnd":"${formatVnd(call.costMicroVnd)}"${held ? priceOf(call, held) : ""}` +
    `,"latency_ms":${latencyMs},"status":${call.status}` +
    `,"outcome":"${call.outcome}","streamed":${call.stream},"estimated":${call.estimated},"msg":"call"}\n`;
  log.line(line);
}

function priceOf({ writtenOffMicroVnd, usage }: EndedCall, { tariff }: Readonly<Held>): string {
  const { discounts } = tariff;
  const factors = statedOf(tariff.factors);
  const cached = factors && {
    cache_read_tokens: usage?.cacheReadTokens ?? 0,
    cache_write_tokens: usage?.cacheWriteTokens ?? 0,
    factors,
  };
  return (
    `,"written_off_vnd":"${formatVnd(writtenOffMicroVnd)}"` +
    `,"unit":"${tariff.unit}","unit_price_vnd":"${formatVnd(tariff.unitPriceMicroVnd)}"` +
    (cached ? `,${JSON.stringify(cached).slice(1, -1)}` : "") +
    `,"discount_bps":${tariff.discountBps}` +
    (discounts ? `,"discounts":${JSON.stringify(discounts)}` : "") +
    `,"catalogue_version":"${tariff.catalogueVersion}"`
  );
}
