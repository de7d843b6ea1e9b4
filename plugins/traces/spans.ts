import type { EndedCall } from "../../core/plugin/index.ts";
import { attributesOf, nanosecondsOf, type OtlpSpan, SPAN_KIND, STATUS } from "./otlp.ts";
import type { CallTrace } from "./trace-context.ts";

/** Provider names that the conventions prescribe, by the usual names of upstreams. Any other upstream keeps its own. */
const PROVIDERS: Readonly<Record<string, string>> = {
  aws: "aws.bedrock",
  "aws-mantle": "aws.bedrock",
  "aws-mantle-openai": "aws.bedrock",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
};
const SERVER_ERROR = 500;

/**
 * Returns the spans of a call that has ended: one for the call, and below it one for the provider's part if an upstream
 * was tried. Names follow the semantic conventions for HTTP and for generative AI; names of our own begin with
 * `tollgate.`. Spans never have a prompt, a reply or a key.
 */
export function spansOf(call: EndedCall, trace: CallTrace): OtlpSpan[] {
  const spans = [callSpan(call, trace)];
  if (call.attempts > 0) spans.push(upstreamSpan(call, trace));
  return spans;
}

function callSpan(call: EndedCall, trace: CallTrace): OtlpSpan {
  const { endpoint, status } = call;
  const isError = status >= SERVER_ERROR || call.outcome === "broken";
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    ...(trace.parentId !== undefined && { parentSpanId: trace.parentId }),
    name: `POST ${endpoint.path}`,
    kind: SPAN_KIND.server,
    startTimeUnixNano: nanosecondsOf(call.at),
    endTimeUnixNano: nanosecondsOf(timeOf(call, call.endedMs)),
    attributes: attributesOf({
      "http.request.method": "POST",
      "http.route": endpoint.path,
      "http.response.status_code": status,
      "error.type": isError ? errorOf(call) : undefined,
      "tollgate.call.id": call.id,
      "tollgate.account.id": call.key?.accountId,
      "tollgate.key.id": call.key?.id,
      "tollgate.outcome": call.outcome,
      "tollgate.refusal": call.refusal?.type,
      "tollgate.cost_micro_vnd": call.costMicroVnd,
      "tollgate.usage_estimated": call.estimated,
    }),
    events: [],
    status: { code: isError ? STATUS.error : STATUS.unset },
  };
}

function upstreamSpan(call: EndedCall, trace: CallTrace): OtlpSpan {
  const { usage, model, route, firstByteAtMs, failedAttempts } = call;
  const isError = call.outcome === "broken" || call.outcome === "refused";
  const operation = operationOf(call);
  const name = route?.model ?? model?.id;
  const begun = firstByteAtMs > 0 ? [{ atMs: firstByteAtMs, name: "first byte" }] : [];
  return {
    traceId: trace.traceId,
    spanId: trace.upstreamSpanId,
    parentSpanId: trace.spanId,
    name: name === undefined ? operation : `${operation} ${name}`,
    kind: SPAN_KIND.client,
    startTimeUnixNano: nanosecondsOf(timeOf(call, trace.sentMs ?? call.startedMs)),
    endTimeUnixNano: nanosecondsOf(timeOf(call, call.endedMs)),
    attributes: attributesOf({
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": route && (PROVIDERS[route.upstream] ?? route.upstream),
      "gen_ai.request.model": name,
      "gen_ai.usage.input_tokens": usage?.inputTokens,
      "gen_ai.usage.output_tokens": usage?.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage?.cacheReadTokens || undefined,
      "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens || undefined,
      "error.type": isError ? errorOf(call) : undefined,
      "tollgate.model": model?.id,
      "tollgate.upstream": route?.upstream,
      "tollgate.streamed": call.stream,
      "tollgate.attempts": call.attempts,
      "tollgate.failed_attempts":
        failedAttempts.length > 0
          ? failedAttempts.map(({ upstream, cause }) => `${upstream}: ${cause}`)
          : undefined,
    }),
    events: begun.map(({ atMs, name }) => ({
      timeUnixNano: nanosecondsOf(timeOf(call, atMs)),
      name,
    })),
    status: { code: isError ? STATUS.error : STATUS.unset },
  };
}

/** Returns a time of the monotonic clock as milliseconds of the Unix epoch. */
function timeOf(call: EndedCall, monotonicMs: number): number {
  return call.at + (monotonicMs - call.startedMs);
}

/** The conventions have no other name for images and speech. */
function operationOf({ endpoint }: EndedCall): string {
  if (endpoint.protocol === "embeddings") return "embeddings";
  return endpoint.conversation === undefined ? "generate_content" : "chat";
}

function errorOf({ refusal, status, outcome }: EndedCall): string {
  return refusal?.type ?? (status >= 400 ? String(status) : outcome);
}
