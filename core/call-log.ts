import type { Call } from "./call.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { formatVnd } from "./money.ts";

/** Writes one line a call: the fields of its usage record, and never a prompt, a reply or a key. */
export function logCall(call: Call, clock: Clock, log: Log): void {
  const { usage } = call;
  log.info(
    {
      call_id: call.id,
      account_id: call.key?.accountId,
      key_id: call.key?.id,
      endpoint: call.endpoint.path,
      model: call.model?.id,
      mapped_from: call.mappedFrom === null ? undefined : call.mappedFrom,
      upstream: call.route?.upstream,
      attempts: call.attempts,
      input_tokens: usage?.inputTokens ?? 0,
      output_tokens: usage?.outputTokens ?? 0,
      cost_vnd: formatVnd(call.costMicroVnd),
      latency_ms: Math.round(clock.monotonic() - call.startedMs),
      status: call.status,
      outcome: call.outcome,
      streamed: call.stream,
      estimated: call.estimated,
    },
    "call",
  );
}
