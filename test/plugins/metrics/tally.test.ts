import t from "tap";
import type { Model } from "../../../core/catalogue/catalogue.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { HttpCall } from "../../../core/http/http-call.ts";
import type { CallOutcome } from "../../../core/money/usage-fields.ts";
import type { EndedCall } from "../../../core/plugin/call.ts";
import { Usage } from "../../../core/wire/usage/usage.ts";
import { Distribution } from "../../../plugins/metrics/distribution.ts";
import { calls, Tally } from "../../../plugins/metrics/tally.ts";

const [messages, chat] = endpoints;
const opus = { id: "claude-opus-5-5" } as Model;

function ended(status: number, outcome: CallOutcome, change: Partial<EndedCall> = {}): EndedCall {
  const call = new HttpCall("id", 0, 1000, messages!, {});
  const usage = new Usage();
  usage.inputTokens = 7;
  usage.outputTokens = 3;
  const reply = {
    status,
    outcome,
    usage,
    attempts: 1,
    model: opus,
    firstByteAtMs: 1030,
    endedMs: 1050,
  };
  return { ...call, ...reply, ...change };
}

t.test("metrics: the counters of a call", async (t) => {
  t.test("counts what was held and not charged if a call is stopped and uncounted", async (t) => {
    const tally = new Tally();
    const held = { tariff: { unit: "mtok" } } as EndedCall["held"];
    const sums = { heldMicroVnd: 900, costMicroVnd: 200, held, taken: true, estimated: true };
    tally.count(ended(499, "gone", sums));
    // The usage was reported; the provider did not have the call; the price is fixed; the reply was finished.
    tally.count(ended(200, "gone", { ...sums, estimated: false }));
    tally.count(ended(499, "gone", { ...sums, taken: false }));
    const perCall = { tariff: { unit: "call" } } as EndedCall["held"];
    tally.count(ended(499, "gone", { ...sums, held: perCall }));
    tally.count(ended(200, "left", sums));
    const [series] = tally.series();
    t.match(series, { leftUncounted: 1, leftUnchargedMicroVnd: 700 });
  });

  t.test("adds up calls, tokens and charges by endpoint and model", async (t) => {
    const tally = new Tally();
    tally.count(ended(200, "complete", { costMicroVnd: 360_000 }));
    tally.count(ended(200, "gone", { costMicroVnd: 140_000, estimated: true }));
    tally.count(ended(200, "complete", { endpoint: chat! }));
    const [first, second, ...others] = [...tally.series()];
    t.strictSame(others, []);
    t.strictSame([second?.endpoint, second?.model], ["/v1/chat/completions", opus.id]);
    const { ended: _, refused: __, ...sums } = first!;
    t.strictSame(sums, {
      endpoint: "/v1/messages",
      model: opus.id,
      inputTokens: 14,
      outputTokens: 6,
      chargedMicroVnd: 500_000,
      writtenOffMicroVnd: 0,
      estimated: 1,
      leftUncounted: 0,
      leftUnchargedMicroVnd: 0,
      unsold: 0,
      bounded: 0,
      boundTokens: 0,
      reportedTokens: 0,
      overBound: 0,
    });
    t.strictSame(
      [...calls(first!)],
      [
        { status: 200, outcome: "complete", count: 1 },
        { status: 200, outcome: "gone", count: 1 },
      ],
    );
  });

  t.test("compares a reported input with its bound", async (t) => {
    const tally = new Tally();
    const usage = new Usage();
    usage.inputTokens = 500;
    usage.inputReported = true;
    const bounded = (inputTokensBound: number, more: Partial<EndedCall> = {}) =>
      tally.count(ended(200, "complete", { usage, inputTokensBound, ...more }));
    bounded(600);
    bounded(500);
    bounded(499);
    // Not compared: images, input that the provider's tools bring, what is only estimated, and refusals.
    bounded(0);
    const surcharge = {
      factor: 1,
      fees: new Map(),
      holdTokens: 0,
      holdFeesVnd: 0,
      unbounded: true,
    };
    bounded(10, { surcharge });
    bounded(10, { usage: new Usage() });
    bounded(10, { status: 402 });
    t.match(
      [...tally.series()],
      [{ bounded: 3, boundTokens: 1_599, reportedTokens: 1_500, overBound: 1 }],
    );
  });

  const refusals: [number, number, string][] = [
    // status, attempts, type
    [400, 0, "invalid_request_error"],
    [401, 0, "authentication_error"],
    [402, 0, "insufficient_balance"],
    [403, 0, "permission_error"],
    [404, 0, "not_found_error"],
    [413, 0, "request_too_large"],
    [429, 0, "rate_limit_error"],
    [500, 0, "api_error"],
    [503, 0, "service_unavailable"],
    [429, 2, "upstream"],
    [418, 1, "upstream"],
  ];
  for (const [status, attempts, type] of refusals) {
    t.test(`counts a ${status} after ${attempts} attempts as ${type}`, async (t) => {
      const tally = new Tally();
      tally.count(ended(status, "refused", { attempts }));
      const [series] = [...tally.series()];
      t.strictSame([...(series?.refused ?? [])], [[type, 1]]);
      t.strictSame([series?.inputTokens, series?.outputTokens], [0, 0]);
      // Refusals take no time and would make the gateway look faster than it is.
      t.match(tally.latency.text(), /^# HELP.*\n# TYPE.*\n$/);
    });
  }

  t.test("takes no streamed image for an upstream that begins slowly", async (t) => {
    const tally = new Tally();
    const route = { upstream: "openai" } as EndedCall["route"];
    for (const endpoint of [chat!, endpoints.find(({ protocol }) => protocol === "images")!]) {
      tally.count(ended(200, "complete", { endpoint, route, stream: true }));
    }
    const streamed = 'upstream_first_byte_seconds_count{upstream="openai",streamed="true"} 1';
    t.match(tally.upstreamFirstByte.text(), streamed);
  });

  t.test("has no model label if a call had no model", async (t) => {
    const tally = new Tally();
    tally.count(ended(401, "refused", { model: undefined }));
    t.equal([...tally.series()][0]?.model, "none");
  });
});

t.test("metrics: histograms", async (t) => {
  t.test("writes cumulative buckets in Prometheus's format", async (t) => {
    const distribution = new Distribution("d", "help", "endpoint");
    for (const seconds of [0.01, 0.011, 2, 901]) distribution.observe("/v1/x", true, seconds);
    const text = distribution.text();
    t.match(text, /^# HELP d help\n# TYPE d histogram\n/);
    const of = (le: string) => `d_bucket{endpoint="/v1/x",streamed="true",le="${le}"}`;
    for (const [le, count] of [
      ["0.01", 1],
      ["0.025", 2],
      ["1", 2],
      ["2.5", 3],
      ["900", 3],
      ["+Inf", 4],
    ]) {
      t.ok(text.includes(`${of(String(le))} ${count}\n`), `${le}\n${text}`);
    }
    t.ok(text.includes('d_count{endpoint="/v1/x",streamed="true"} 4\n'));
    t.ok(text.includes('d_sum{endpoint="/v1/x",streamed="true"} 903.021\n'));
  });
});
