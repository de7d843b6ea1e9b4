import t from "tap";
import { headersOf, traceOf } from "../../../plugins/traces/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

t.test("the trace of a call", async (t) => {
  t.test("is the client's, which decides if it is recorded", async (t) => {
    for (const [flags, isSampled] of [
      ["01", true],
      ["00", false],
      ["03", true],
      ["02", false],
    ] as const) {
      const headers = { traceparent: `00-${TRACE}-${PARENT}-${flags}`, tracestate: "a=1,b=2" };
      const trace = traceOf(headers, isSampled ? 0 : 1);
      t.match(trace, { traceId: TRACE, parentId: PARENT, isSampled, state: "a=1,b=2" });
      t.match(trace.spanId, /^[0-9a-f]{16}$/);
      t.not(trace.spanId, trace.upstreamSpanId);
      t.strictSame(headersOf(trace), [
        "traceparent",
        `00-${TRACE}-${trace.upstreamSpanId}-${isSampled ? "01" : "00"}`,
        "tracestate",
        "a=1,b=2",
      ]);
    }
    const later = traceOf({ traceparent: `cc-${TRACE}-${PARENT}-01-more` }, 0);
    t.equal(later.traceId, TRACE, "a later version may have more fields");
  });

  for (const [what, traceparent] of [
    ["none", undefined],
    ["an empty one", ""],
    ["the forbidden version", `ff-${TRACE}-${PARENT}-01`],
    ["more than version 00 has", `00-${TRACE}-${PARENT}-01-more`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${PARENT}-01`],
    ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["upper case", `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ["two at once", `00-${TRACE}-${PARENT}-01,00-${TRACE}-${PARENT}-01`],
  ] as const) {
    t.test(`is a new one if the client sends ${what}`, async (t) => {
      const headers: Record<string, string> = { tracestate: "a=1" };
      if (traceparent !== undefined) headers["traceparent"] = traceparent;
      const trace = traceOf(headers, 1);
      t.match(trace.traceId, /^[0-9a-f]{32}$/);
      t.not(trace.traceId, TRACE);
      t.match(trace, { parentId: undefined, state: undefined, isSampled: true });
      t.equal(traceOf(headers, 0).isSampled, false);
    });
  }

  t.test("passes no tracestate on that is too long or no text", async (t) => {
    for (const tracestate of ["a".repeat(513), "a=é", "a\tb", ""]) {
      const trace = traceOf({ traceparent: `00-${TRACE}-${PARENT}-01`, tracestate }, 1);
      t.equal(headersOf(trace).length, 2);
    }
  });
});
