import assert from "node:assert/strict";
import t from "tap";
import { OrderedSink, SinkMisuse } from "../../../core/http/pipeline.ts";
import { COMPLETE, GONE, type Outcome, REFUSED } from "../../../core/plugin/call.ts";
import type { Sink } from "../../../core/plugin/plugin.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { newCall } from "../../support/call.ts";

const BROKEN: Outcome = {
  kind: "broken",
  refusal: refuse.upstreamFailed("broken"),
  truncated: false,
  errorSent: false,
};
const EVENT = new ServerEvent(Buffer.from("data: x\n\n"));

const USES: Readonly<Record<string, (sink: Sink) => void>> = {
  head: (sink) => sink.head(200, []),
  event: (sink) => sink.event(EVENT),
  data: (sink) => sink.data(Buffer.from("x")),
  end: (sink) => sink.end(COMPLETE),
  refused: (sink) => sink.end(REFUSED),
  broken: (sink) => sink.end(BROKEN),
  gone: (sink) => sink.end(GONE),
};

/** The calls of a plugin, those that pass, and the reported error. */
const TABLE: readonly (readonly [string, string, string | undefined])[] = [
  ["head event event end", "head event event end", undefined],
  ["head data data end", "head data data end", undefined],
  ["head end", "head end", undefined],
  ["head refused", "head end", undefined],
  ["broken", "end", undefined],
  ["gone", "end", undefined],
  ["event", "", "event of its client's sink after nothing"],
  ["data", "", "data of its client's sink after nothing"],
  ["end", "", "end of its client's sink after nothing"],
  ["refused", "", "end of its client's sink after nothing"],
  ["head head event end", "head", "head of its client's sink after head"],
  ["head event head end", "head event", "head of its client's sink after event"],
  ["head event data end", "head event", "data of its client's sink after event"],
  ["head data event end", "head data", "event of its client's sink after data"],
  ["head end end", "head end", "end of its client's sink after end"],
  ["broken broken", "end", "end of its client's sink after end"],
  ["head end event end", "head end", "event of its client's sink after end"],
  ["head end data", "head end", "data of its client's sink after end"],
  ["head end head", "head end", "head of its client's sink after end"],
];

t.test("a plugin's sink", async (t) => {
  for (const [uses, passed, misuse] of TABLE) {
    t.test(`${misuse === undefined ? "takes" : "reports, once"}: ${uses}`, async (t) => {
      const seen: string[] = [];
      const reported: unknown[] = [];
      const call = newCall();
      const flow = { pause() {}, resume() {}, flush() {}, cut() {} };
      const core = { clientWaits() {}, cutIfSilent() {}, overdue() {} };
      call.flow = { ...flow, ...core, bug: (error) => void reported.push(error) };
      const client: Sink = {
        head: () => void seen.push("head"),
        event: () => void seen.push("event"),
        data: () => void seen.push("data"),
        end: () => void seen.push("end"),
      };
      const sink = new OrderedSink("rude", client, call);
      for (const use of uses.split(" ")) USES[use]?.(sink);
      t.equal(seen.join(" "), passed);
      t.equal(reported.length, misuse === undefined ? 0 : 1);
      if (misuse === undefined) return;
      const [error] = reported;
      assert.ok(error instanceof SinkMisuse);
      t.equal(error.plugin, "rude");
      t.equal(error.message, `plugin "rude" called ${misuse}`);
    });
  }

  t.test("throws before the exchange begins, when nothing could end the call", async () => {
    const sink = new OrderedSink("rude", USES_NOTHING, newCall());
    assert.throws(() => sink.event(EVENT), SinkMisuse);
  });
});

const USES_NOTHING: Sink = { head() {}, event() {}, data() {}, end() {} };
