import OpenAI from "openai";
import t from "tap";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import { bodies, eventsOf, openStream, paths, post } from "../support/requests.ts";

/** The first sign of life after a second; `first_byte_seconds` of the upstream is longer. */
const LIMITS = { heartbeat_seconds: 1 };
/** Events after which each has brought content. */
const BEGUN = { messages: 3, chat: 2, responses: 5 };
const SILENT_MS = 600_000;
const REFUSED = { delay_ms: SILENT_MS, status: 400, error: { message: "no such tool" } };
const COMMENT = ": waiting for the model\n\n";
/** The sign of each protocol once the stream has begun. */
const SIGNS = {
  messages: 'event: ping\ndata: {"type": "ping"}\n\n',
  chat: COMMENT,
  responses: COMMENT,
};
/** It counts events alone. */
const CODEX = { "user-agent": "codex_cli_rs/0.154.0 (Ubuntu 24.4.0; x86_64) xterm" };

/** The event for Codex has the number of the one before it. */
function keepalive(sequence_number: number): string {
  return `event: keepalive\ndata: ${JSON.stringify({ type: "keepalive", sequence_number })}\n\n`;
}

t.test(
  "a stream that has begun gets its first sign of life after a quarter of the wait",
  async (t) => {
    const gateway = await startGateway({ config: { limits: { heartbeat_seconds: 8 } } });
    t.teardown(() => gateway.close());
    const customer = await customerWith(gateway);
    const until = customer.accountId;
    const silence = { silent_ms: SILENT_MS, silent_after_events: BEGUN.messages, until };
    const body = bodies.messages({ text: "good day", ...silence }, { stream: true });
    const call = await openStream(gateway, paths.messages, customer, body);
    await call.until((text) => text.includes("good"));
    const begunMs = performance.now();
    await call.until((text) => text.includes(SIGNS.messages));
    t.ok(performance.now() - begunMs < 6_000);
    await gateway.simulator.release(until);
    t.match(await call.rest(), /message_stop/);
  },
);

t.test("a stream whose model is silent", { jobs: 8 }, async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({ config: { limits: LIMITS } });
  });
  t.teardown(() => gateway.close());

  /** The reply of a provider that stays silent until the client `hasHeard` enough. */
  const hear = async (
    client: "messages" | "chat" | "responses",
    directive: Directive,
    hasHeard: (text: string) => boolean,
    more = {},
    headers = {},
  ) => {
    const customer = await customerWith(gateway);
    const until = customer.accountId;
    const content = { text: "good day", ...directive, until };
    const body = bodies[client](content, { stream: true, ...more });
    const call = await openStream(gateway, paths[client], customer, body, headers);
    await call.until(hasHeard);
    await gateway.simulator.release(until);
    return { head: call.head(), text: await call.rest() };
  };
  const hasComments = (text: string) => text.startsWith(COMMENT + COMMENT);

  for (const client of ["messages", "chat", "responses"] as const) {
    t.test(`gets comments before it begins: ${client}`, async (t) => {
      const { head, text } = await hear(client, { delay_ms: SILENT_MS }, hasComments);
      t.equal(head?.statusCode, 200);
      t.match(head?.headers["content-type"], /^text\/event-stream/);
      t.type(head?.headers["x-svc-model"], "string");
      t.match(text, /good|day/);
    });

    t.test(`gets signs of life between whole events: ${client}`, async (t) => {
      const sign = SIGNS[client];
      const silence = { silent_ms: SILENT_MS, silent_after_events: BEGUN[client] };
      const { text } = await hear(client, silence, (text) => text.split(sign).length > 2);
      const [before = "", ...rest] = text.split(sign);
      t.match(before, /good[\s\S]*\n\n$/, "after a whole event");
      t.match(rest.at(-1), /message_stop|\[DONE\]|response\.completed/);
    });

    t.test(`gets an error as an event after a sign of life: ${client}`, async (t) => {
      const { head, text } = await hear(client, REFUSED, hasComments);
      t.equal(head?.statusCode, 200);
      const errors = eventsOf(text).filter((event) =>
        JSON.stringify(event).includes("no such tool"),
      );
      t.equal(errors.length, client === "responses" ? 2 : 1, text);
    });
  }

  t.test("gets the type, the code and the field of an error after a sign of life", async (t) => {
    const told = async (client: "messages" | "chat" | "responses", more: object, model = {}) => {
      const { text } = await hear(client, { ...REFUSED, ...more }, hasComments, model);
      return eventsOf(text).at(-1);
    };
    const message = "prompt is too long: 210000 tokens > 200000 maximum";
    const tooLong = { error: { type: "invalid_request_error", message } };
    const code = "context_length_exceeded";
    t.match(await told("chat", tooLong), { error: { message, code } });
    t.match(await told("responses", tooLong), { response: { error: { message, code } } });
    const translated = { model: "claude-opus-5-5" };
    t.match(await told("responses", tooLong, translated), { response: { error: { code } } });
    const field = { error: { message: "no such tool", code: "bad_tool", param: "tools" } };
    t.match(await told("chat", field), field);
    const large = { status: 413, error: { type: "request_too_large", message: "too large" } };
    t.match(await told("messages", large), { error: { type: "request_too_large" } });
  });

  t.test("gets events, also before it begins, if its client is Codex", async (t) => {
    for (const [begun, silence] of [
      [0, { delay_ms: SILENT_MS }],
      [BEGUN.responses, { silent_ms: SILENT_MS, silent_after_events: BEGUN.responses }],
    ] as const) {
      const sign = keepalive(Math.max(0, begun - 1));
      const hasSigns = (text: string) => text.includes(sign + sign);
      const { text } = await hear("responses", silence, hasSigns, {}, CODEX);
      t.equal(text.slice(0, text.indexOf(sign)).split("event: ").length - 1, begun);
      t.match(text.replaceAll(sign, ""), /^event: response\.created[\s\S]*response\.completed/);
    }
  });

  t.test("gets events though its upstream sends comments", async (t) => {
    const customer = await customerWith(gateway);
    const waits = ": waiting\n\n";
    for (const [client, sign, headers] of [
      ["messages", SIGNS.messages, {}],
      ["responses", keepalive(BEGUN.responses - 1), CODEX],
    ] as const) {
      const begins = await (async () => {
        const { text } = await post(
          gateway,
          paths[client],
          customer,
          bodies[client]({ text: "good day" }, { stream: true }),
        );
        return text.split("\n\n").map((event) => `${event}\n\n`);
      })();
      const begun = begins.slice(0, BEGUN[client]);
      const reply = [...begun, ...Array(30).fill(waits), ...begins.slice(BEGUN[client], -1)];
      const directive = { reply, event_delay_ms: 100 };
      const body = bodies[client](directive, { stream: true });
      const { text } = await post(gateway, paths[client], customer, body, headers);
      t.match(text, sign, text);
    }
  });

  t.test("is read by the official helper for streams of Responses", async (t) => {
    const { key } = await customerWith(gateway);
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });
    for (const silence of [
      { delay_ms: 2_500 },
      { silent_ms: 2_500, silent_after_events: BEGUN.responses },
    ]) {
      const stream = openai.responses.stream(bodies.responses({ text: "good day", ...silence }));
      t.equal((await stream.finalResponse()).output_text, "good day");
    }
  });

  t.test("is translated as any other", async (t) => {
    const more = { model: "gpt-4.1-nano" };
    const { text } = await hear("messages", { delay_ms: SILENT_MS }, hasComments, more);
    t.match(text, /event: message_start[\s\S]*event: message_stop/);
    const refused = await hear("messages", REFUSED, hasComments, more);
    t.match(refused.text, /event: error\ndata: .*no such tool/);
  });

  t.test("of speech gets comments only if it comes as events", async (t) => {
    const late = { delay_ms: 3_000 };
    const speak = async (directive: Directive, more: object) => {
      const customer = await customerWith(gateway);
      const body = bodies.speech(directive, more);
      return { customer, ...(await post(gateway, paths.speech, customer, body)) };
    };
    // Servers that speak the Audio API beside OpenAI take `stream` for audio in pieces.
    for (const more of [{ stream: true }, { stream: true, stream_format: "audio" }]) {
      const { customer, headers, text } = await speak(late, more);
      t.equal(headers.get("content-type"), "audio/mpeg");
      t.notMatch(text, /waiting|error/);
      t.not((await billedCall(gateway, customer))["cost_vnd"], "0");
    }
    const events = await speak(late, { stream_format: "sse" });
    t.match(events.headers.get("content-type"), /^text\/event-stream/);
    t.match(events.text, /^: waiting[\s\S]*speech\.audio\.delta[\s\S]*speech\.audio\.done/);
    t.not((await billedCall(gateway, events.customer))["cost_vnd"], "0");

    const bytes = { ...late, reply: "not an event", reply_type: "audio/mpeg" };
    const audio = await speak(bytes, { stream_format: "sse" });
    t.match(audio.text, /^: waiting[\s\S]*data: .*"error"/);
    t.notMatch(audio.text, /not an event/);
    await assertNotCharged(gateway, audio.customer);
  });

  t.test("gets none if it is not silent, or not streamed", async (t) => {
    const ask = async (client: "messages" | "chat", directive: Directive, stream: boolean) =>
      post(
        gateway,
        paths[client],
        await customerWith(gateway),
        bodies[client]({ text: "good day", ...directive }, { stream }),
      );
    t.notMatch((await ask("messages", {}, true)).text, COMMENT);
    const whole = await ask("chat", { delay_ms: 3_000 }, false);
    t.match(whole.json.choices[0].message.content, /good day/);
  });
});
