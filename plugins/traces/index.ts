import {
  mapping,
  type Plugin,
  type Services,
  text,
  url,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { Exporter } from "./exporter.ts";
import { spansOf } from "./spans.ts";
import { type CallTrace, headersOf, traceOf } from "./trace-context.ts";

const ADDRESS = "the address of an OTLP receiver, such as http://127.0.0.1:4318";
const SHARE = "a number from 0 to 1";

export const options = mapping({
  /** The OTLP receiver. Spans go to `/v1/traces` below this address, as JSON over HTTP. */
  endpoint: v.pipe(
    url(["https?"], ADDRESS),
    v.check(
      (address) => !/\/v1\/traces\/*$/.test(address),
      "an address without /v1/traces, which the gateway adds",
    ),
  ),
  /** Headers for the receiver, such as a key. */
  headers: v.optional(v.record(text("the name of a header"), text("the value of a header")), {}),
  service_name: v.optional(text(), "tollgate"),
  /** The share of calls to record. A client that sends `traceparent` decides for its own calls. */
  sampled_share: v.optional(v.pipe(v.number(SHARE), v.minValue(0, SHARE), v.maxValue(1, SHARE)), 1),
  /** Maximum spans that wait for the receiver. Further ones are dropped and counted. */
  queued_spans_max: v.optional(whole(1, 100_000), 4_096),
});

export const provides = ["counters"];

/**
 * Records spans of calls with a known key, and sends them to an OpenTelemetry receiver. Passes trace context on to the
 * provider. Never delays or refuses a call. Place it near the top: it sees only calls that reach it.
 */
export default function traces(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const { clock } = services;
  const known = new WeakMap<object, CallTrace>();
  let exporter: Exporter | undefined;

  return {
    name: "traces",

    async start() {
      const started = new Exporter(
        {
          endpoint: settings.endpoint.replace(/\/+$/, ""),
          headers: settings.headers,
          serviceName: settings.service_name,
          queuedSpansMax: settings.queued_spans_max,
        },
        services.log,
      );
      exporter = started;
      services.counters.provide({
        name: "tollgate_trace_spans_total",
        help: "Spans sent to the receiver of traces, and spans dropped.",
        label: "result",
        counts: () => ({ sent: started.sentSpans, dropped: started.droppedSpans }),
      });
    },

    admit(call) {
      const trace = traceOf(call.headers, settings.sampled_share);
      known.set(call, trace);
      call.upstreamHeaders = [...call.upstreamHeaders, ...headersOf(trace)];
      return undefined;
    },

    /** Runs as the request goes upstream. */
    stream(call, client) {
      const trace = known.get(call);
      if (trace) trace.sentMs = clock.monotonic();
      return client;
    },

    ended(call) {
      const trace = known.get(call);
      if (!trace?.isSampled || !call.key || call.endpoint.path === "") return;
      for (const span of spansOf(call, trace)) exporter?.add(span);
    },

    stop: async () => exporter?.stop(),
  };
}
