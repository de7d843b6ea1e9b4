import assert from "node:assert/strict";
import t from "tap";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import { COMPLETE, type Outcome } from "../../../core/plugin/call.ts";
import { ServerEvent } from "../../../core/sse/reader.ts";
import { refuse } from "../../../core/wire/refusal.ts";
import { kindOf } from "../../../core/wire/wire.ts";
import { wires } from "../../../core/wire/wires.ts";
import { ChatToMessagesStream } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { TranslatingSink } from "../../../plugins/translate/translating-sink.ts";
import { newCall } from "../../support/call.ts";

const [endpoint] = endpoints;
const CHUNK = '{"id":"c","choices":[{"index":0,"delta":{"content":"one"}}]}';
const END = '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
const BROKEN = {
  kind: "broken",
  refusal: refuse.upstreamFailed("Upstream stream ended before completion"),
  truncated: true,
  errorSent: false,
} as const;

/** A stream from a Chat upstream to a Messages client, and its outcome. */
function open() {
  assert.ok(endpoint);
  const call = newCall(endpoint);
  const seen = { status: 0, text: "", cuts: 0, outcome: undefined as Outcome | undefined };
  let replies = 0;
  const context = messagesContext({ model: "m" }, chatProfile({}));
  const sink: TranslatingSink = new TranslatingSink(
    call,
    {
      head: (status) => {
        seen.status = status;
      },
      event: (event) => {
        const sameBytes = new ServerEvent(event.raw);
        assert.equal(event.kind, kindOf(sameBytes, wires.messages), String(event.raw));
        seen.text += Buffer.from(event.raw).toString();
      },
      data: (bytes) => {
        seen.text += Buffer.from(bytes).toString();
      },
      end: (outcome) => {
        seen.outcome = outcome;
      },
    },
    {
      reply: () => ({ status: 200, body: {} }),
      error: () => ({ status: 400, body: {} }),
      stream: (client) => new ChatToMessagesStream(context, client),
    },
    () => replies++,
  );
  call.flow = {
    pause() {},
    resume() {},
    clientWaits() {},
    flush() {},
    bug() {},
    cutIfSilent() {},
    overdue() {},
    cut(outcome) {
      seen.cuts++;
      sink.end(outcome);
    },
  };
  sink.head(200, ["content-type", "text/event-stream"]);
  assert.equal(replies, 1);
  const send = (data: string) => sink.event(new ServerEvent(Buffer.from(`data: ${data}\n\n`)));
  return { sink, seen, send };
}

t.test("a translated stream", async (t) => {
  t.test(
    "whose upstream sends an invalid event is cancelled upstream, with one error to the client",
    async (t) => {
      const { seen, send } = open();
      send(CHUNK);
      send("<html>");
      t.equal(seen.cuts, 1);
      t.equal(seen.text.split("event: error").length, 2);
      t.ok(seen.outcome?.kind === "broken" && seen.outcome.errorSent);
      t.ok(!seen.text.includes("message_stop"));
    },
  );

  t.test(
    "that fails before its first event becomes an error with a status, and is cancelled upstream",
    async (t) => {
      const { seen, send } = open();
      send('{"error":{"message":"We are overloaded"}}');
      t.equal(seen.cuts, 1);
      t.equal(seen.status, 529);
      t.equal(JSON.parse(seen.text).error.type, "overloaded_error");
      t.ok(seen.outcome?.kind === "broken" && seen.outcome.errorSent);
    },
  );

  t.test(
    "is complete if the upstream ends after the stop reason, without the last event",
    async (t) => {
      const { sink, seen, send } = open();
      send(CHUNK);
      send(END);
      sink.end(BROKEN);
      t.strictSame(seen.outcome, COMPLETE);
      t.ok(seen.text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n'));
    },
  );

  t.test("is broken and ends with an error if the upstream ends before that", async (t) => {
    const { sink, seen, send } = open();
    send(CHUNK);
    sink.end(BROKEN);
    t.strictSame(seen.outcome, { ...BROKEN, errorSent: true });
    t.match(seen.text, /event: error\n.*ended before completion/);
  });

  t.test("without any output is left to the gateway to refuse", async (t) => {
    const { sink, seen } = open();
    const gone: Outcome = { kind: "gone" };
    sink.end(gone);
    t.strictSame([seen.text, seen.outcome], ["", gone]);
  });

  t.test("that the gateway cuts ends with the gateway's own refusal", async (t) => {
    const { sink, seen, send } = open();
    send(CHUNK);
    const refusal = refuse.insufficientBalance("empty");
    sink.end({ kind: "exhausted", refusal });
    t.strictSame(seen.outcome, { kind: "exhausted", refusal });
    t.ok(!seen.text.includes("error"));
  });
});
