import type { EndedCall } from "../../core/plugin/index.ts";
import { Attempts } from "./attempts.ts";
import { Distribution } from "./distribution.ts";

const OUTCOMES: readonly EndedCall["outcome"][] = [
  "complete",
  "left",
  "exhausted",
  "gone",
  "broken",
  "refused",
];
/** Label for calls that were refused before their model was resolved. */
const NO_MODEL = "none";

/** Error type by status. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [402, "insufficient_balance"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "service_unavailable"],
]);

/** Counts of one model on one endpoint. */
export interface Series {
  readonly endpoint: string;
  readonly model: string;
  /** Calls by status × 8 + index of the outcome; `calls` decodes it. */
  readonly ended: Map<number, number>;
  /** Refused calls by the type of their error. */
  readonly refused: Map<string, number>;
  inputTokens: number;
  outputTokens: number;
  chargedMicroVnd: number;
  writtenOffMicroVnd: number;
  estimated: number;
  unsold: number;
  /** Calls that were cancelled after their clients had left, before their provider had reported what it bills. */
  leftUncounted: number;
  /** The amount that was held for these calls and not charged. */
  leftUnchargedMicroVnd: number;
  /** Calls whose input was both bounded before the call and reported by the provider. */
  bounded: number;
  boundTokens: number;
  reportedTokens: number;
  overBound: number;
}

/**
 * Counts ended calls in plain numbers. The labelled object per count that prom-client needs would cost a call more than
 * all other plugins. Labels are routes and model ids of the catalogue, so clients cannot add series.
 */
export class Tally {
  readonly latency = new Distribution(
    "tollgate_call_duration_seconds",
    "Seconds from the head of a request to the end of its reply.",
    "endpoint",
  );
  readonly firstByte = new Distribution(
    "tollgate_first_byte_seconds",
    "Seconds from the head of a request to the first byte of the upstream's reply.",
    "endpoint",
  );
  /** By the upstream that replied: attempts at others before it are part of the time. */
  readonly upstreamFirstByte = new Distribution(
    "tollgate_upstream_first_byte_seconds",
    "Seconds from the head of a request to the first byte of the reply, by the upstream that served it.",
    "upstream",
  );
  readonly distributions = [this.latency, this.firstByte, this.upstreamFirstByte];
  readonly attempts = new Attempts();
  private readonly byEndpoint = new Map<string, Map<string, Series>>();

  /** Counts an ended call. */
  count(call: EndedCall): void {
    const endpoint = call.endpoint.path;
    const series = this.seriesOf(endpoint, call.model === undefined ? NO_MODEL : call.model.id);
    const outcome = OUTCOMES.indexOf(call.outcome);
    const how = call.status * 8 + outcome;
    series.ended.set(how, (series.ended.get(how) ?? 0) + 1);
    series.chargedMicroVnd += call.costMicroVnd;
    series.writtenOffMicroVnd += call.writtenOffMicroVnd;
    this.attempts.count(call);
    const { usage } = call;
    // The customer does not pay for usage that an upstream reports with an error.
    if (usage !== undefined && (call.status === 200 || call.outcome === "gone")) {
      series.inputTokens += usage.inputTokens;
      series.outputTokens += usage.outputTokens;
      if (call.estimated) series.estimated++;
      if (call.hasUnsoldUses) series.unsold++;
      if (usage.inputReported) compare(usage.inputTokens, call, series);
    }
    if (isUncounted(call)) {
      series.leftUncounted++;
      series.leftUnchargedMicroVnd += Math.max(0, call.heldMicroVnd - call.costMicroVnd);
    }
    if (call.outcome === "refused") {
      const type = call.attempts > 0 ? "upstream" : (REFUSALS.get(call.status) ?? "api_error");
      series.refused.set(type, (series.refused.get(type) ?? 0) + 1);
      return;
    }
    this.latency.observe(endpoint, call.stream, (call.endedMs - call.startedMs) / 1000);
    if (call.firstByteAtMs === 0) return;
    const seconds = (call.firstByteAtMs - call.startedMs) / 1000;
    this.firstByte.observe(endpoint, call.stream, seconds);
    const isStream = call.stream && !call.endpoint.comesAtEnd;
    if (call.route) this.upstreamFirstByte.observe(call.route.upstream, isStream, seconds);
  }

  *series(): Iterable<Series> {
    for (const byModel of this.byEndpoint.values()) yield* byModel.values();
  }

  private seriesOf(endpoint: string, model: string): Series {
    let byModel = this.byEndpoint.get(endpoint);
    if (byModel === undefined) {
      byModel = new Map();
      this.byEndpoint.set(endpoint, byModel);
    }
    let series = byModel.get(model);
    if (series === undefined) {
      series = {
        endpoint,
        model,
        ended: new Map(),
        refused: new Map(),
        inputTokens: 0,
        outputTokens: 0,
        chargedMicroVnd: 0,
        writtenOffMicroVnd: 0,
        estimated: 0,
        unsold: 0,
        leftUncounted: 0,
        leftUnchargedMicroVnd: 0,
        bounded: 0,
        boundTokens: 0,
        reportedTokens: 0,
        overBound: 0,
      };
      byModel.set(model, series);
    }
    return series;
  }
}

/** Returns true if the provider may bill output that the call was not charged for. A fixed price covers all of it. */
function isUncounted({ outcome, taken, estimated, held }: EndedCall): boolean {
  return outcome === "gone" && taken && estimated && held?.tariff.unit === "mtok";
}

/** Compares the input that a provider reports with the bound that money was held for. */
function compare(reported: number, call: EndedCall, series: Series): void {
  const { inputTokensBound: bound, surcharge } = call;
  // Images and speech have no bound, and tools of the provider add input that has no bound.
  if (bound === 0 || surcharge?.unbounded) return;
  series.bounded++;
  series.boundTokens += bound;
  series.reportedTokens += reported;
  if (reported > bound) series.overBound++;
}

/** Yields the calls of a series by status and outcome. */
export function* calls(
  series: Series,
): Iterable<{ status: number; outcome: EndedCall["outcome"]; count: number }> {
  for (const [how, count] of series.ended) {
    const outcome = OUTCOMES[how % 8] ?? "refused";
    yield { status: Math.floor(how / 8), outcome, count };
  }
}
