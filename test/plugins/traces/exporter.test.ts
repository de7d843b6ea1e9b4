import t from "tap";
import { Exporter } from "../../../plugins/traces/exporter.ts";
import { attributesOf, nanosecondsOf, type OtlpSpan } from "../../../plugins/traces/otlp.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type TestReceiver } from "./receiver.ts";

const span = (name: string): OtlpSpan => ({
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  name,
  kind: 2,
  startTimeUnixNano: nanosecondsOf(1_790_000_000_000.5),
  endTimeUnixNano: nanosecondsOf(1_790_000_000_001),
  attributes: attributesOf({
    text: "a",
    whole: 3,
    part: 0.5,
    flag: true,
    list: ["x"],
    none: undefined,
  }),
  events: [],
  status: { code: 0 },
});

t.test("the exporter of spans", async (t) => {
  let receiver: TestReceiver;
  t.beforeEach(async () => {
    receiver = await startReceiver();
  });
  t.afterEach(() => receiver.stop());

  const exporterTo = (endpoint: string, queuedSpansMax = 1_000) => {
    const { log, lines } = recordedLog();
    const headers = { "x-team": "a" };
    return {
      lines,
      exporter: new Exporter({ endpoint, headers, serviceName: "s", queuedSpansMax }, log),
    };
  };

  t.test("sends what waits before it stops, in the form of OTLP", async (t) => {
    const { exporter } = exporterTo(receiver.url);
    exporter.add(span("one"));
    exporter.add(span("two"));
    await exporter.stop();
    const [request] = receiver.received;
    t.match(request, { path: "/v1/traces", serviceName: "s" });
    t.match(request?.headers, { "content-type": "application/json", "x-team": "a" });
    t.strictSame(
      request?.spans.map(({ name }) => name),
      ["one", "two"],
    );
    t.strictSame(request?.spans[0]?.attributes, [
      { key: "text", value: { stringValue: "a" } },
      { key: "whole", value: { intValue: "3" } },
      { key: "part", value: { doubleValue: 0.5 } },
      { key: "flag", value: { boolValue: true } },
      { key: "list", value: { arrayValue: { values: [{ stringValue: "x" }] } } },
    ]);
    t.equal(request?.spans[0]?.startTimeUnixNano, "1790000000000500000");
    t.strictSame([exporter.sentSpans, exporter.droppedSpans], [2, 0]);
  });

  t.test("sends a full batch at once", async (t) => {
    const { exporter } = exporterTo(receiver.url);
    for (let n = 0; n < 256; n += 1) exporter.add(span("many"));
    await until("the batch is sent", () => exporter.sentSpans === 256);
    t.equal(receiver.received.length, 1);
    await exporter.stop();
  });

  t.test("keeps a bounded number while the receiver fails, and counts the rest", async (t) => {
    receiver.status = 503;
    const { exporter, lines } = exporterTo(receiver.url, 300);
    for (let n = 0; n < 1_000; n += 1) exporter.add(span("many"));
    t.equal(exporter.droppedSpans, 700);
    await until("a batch was refused", () => lines.length > 0);
    t.match(lines[0], { msg: /cannot send spans/, reason: "status 503" });
    receiver.status = 200;
    await exporter.stop();
    t.strictSame([exporter.sentSpans, exporter.droppedSpans], [300, 700]);
  });

  t.test("drops what the receiver refuses, and says so", async (t) => {
    receiver.status = 400;
    const { exporter, lines } = exporterTo(receiver.url);
    exporter.add(span("one"));
    await exporter.stop();
    t.strictSame([exporter.sentSpans, exporter.droppedSpans], [0, 1]);
    t.match(lines[0], { msg: /refuses spans/, status: 400 });
  });

  t.test("gives up at the stop if the receiver is down or does not reply", async (t) => {
    for (const status of [0, undefined]) {
      if (status === 0) receiver.status = 0;
      const { exporter, lines } = exporterTo(status === 0 ? receiver.url : "http://127.0.0.1:1");
      exporter.add(span("one"));
      await exporter.stop();
      t.strictSame([exporter.sentSpans, exporter.droppedSpans], [0, 1]);
      t.match(lines.at(-1), { msg: /dropping them/, spans: 1 });
    }
  });
});
