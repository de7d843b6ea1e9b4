import t from "tap";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import { bodies, openStream, paths, post } from "../support/requests.ts";

/** The first sign of life after a second; `first_byte_seconds` of the upstream is longer. */
const LIMITS = { heartbeat_seconds: 1 };
/** Events after which each has brought content. */
const BEGUN = { messages: 3, chat: 2, responses: 5 };
const SILENT_MS = 600_000;
const REFUSED = { delay_ms: SILENT_MS, status: 400, error: { message: "no such tool" } };
const COMMENT = ": waiting for the model\n\n";
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

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
  ) => {
    const customer = await customerWith(gateway);
    const until = customer.accountId;
    const content = { text: "good day", ...directive, until };
    const body = bodies[client](content, { stream: true, ...more });
    const call = await openStream(gateway, paths[client], customer, body);
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
      const sign = client === "messages" ? PING : COMMENT;
      const silence = { silent_ms: SILENT_MS, silent_after_events: BEGUN[client] };
      const { text } = await hear(client, silence, (text) => text.split(sign).length > 2);
      const [before = "", ...rest] = text.split(sign);
      t.match(before, /good[\s\S]*\n\n$/, "after a whole event");
      t.match(rest.at(-1), /message_stop|\[DONE\]|response\.completed/);
    });

    t.test(`gets an error as an event after a sign of life: ${client}`, async (t) => {
      const { head, text } = await hear(client, REFUSED, hasComments);
      t.equal(head?.statusCode, 200);
      t.equal(text.match(/no such tool/g)?.length, 1, text);
    });
  }

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
