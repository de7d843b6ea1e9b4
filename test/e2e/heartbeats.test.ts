import t from "tap";
import { customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import { bodies, paths, post } from "../support/requests.ts";

/** The first sign of life after a second; `first_byte_seconds` of the upstream is longer. */
const LIMITS = { heartbeat_seconds: 1 };
/** Events after which each has brought content. */
const BEGUN = { messages: 3, chat: 2, responses: 5 };
const COMMENT = ": waiting for the model\n\n";
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

t.test("a stream whose model is silent", { jobs: 8 }, async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({ config: { limits: LIMITS } });
  });
  t.teardown(() => gateway.close());

  const ask = async (
    client: "messages" | "chat" | "responses",
    directive: Directive,
    more = {},
  ) => {
    const customer = await customerWith(gateway);
    const body = bodies[client]({ text: "good day", ...directive }, { stream: true, ...more });
    return post(gateway, paths[client], customer, body);
  };

  for (const client of ["messages", "chat", "responses"] as const) {
    t.test(`gets comments before it begins: ${client}`, async (t) => {
      const { status, headers, text } = await ask(client, { delay_ms: 4_000 });
      t.equal(status, 200);
      t.match(headers.get("content-type"), /^text\/event-stream/);
      t.type(headers.get("x-svc-model"), "string");
      t.ok(text.startsWith(COMMENT + COMMENT), text);
      t.match(text, /good|day/);
    });

    t.test(`gets signs of life between whole events: ${client}`, async (t) => {
      const { text } = await ask(client, { silent_ms: 4_000, silent_after_events: BEGUN[client] });
      const sign = client === "messages" ? PING : COMMENT;
      t.ok(text.split(sign).length > 2, text);
      const [before = "", ...rest] = text.split(sign);
      t.match(before, /\n\n$/, "after a whole event");
      t.match(rest.at(-1), /message_stop|\[DONE\]|response\.completed/);
    });

    t.test(`gets an error as an event after a sign of life: ${client}`, async (t) => {
      const refused = { delay_ms: 3_000, status: 400, error: { message: "no such tool" } };
      const { status, text } = await ask(client, refused);
      t.equal(status, 200);
      t.ok(text.startsWith(COMMENT), text);
      t.equal(text.match(/no such tool/g)?.length, 1, text);
    });
  }

  t.test("is translated as any other", async (t) => {
    const more = { model: "gpt-4.1-nano" };
    const { text } = await ask("messages", { delay_ms: 4_000 }, more);
    t.ok(text.startsWith(COMMENT), text);
    t.match(text, /event: message_start[\s\S]*event: message_stop/);
    const refused = { delay_ms: 3_000, status: 400, error: { message: "no such tool" } };
    t.match((await ask("messages", refused, more)).text, /event: error\ndata: .*no such tool/);
  });

  t.test("gets none if it is not silent, or not streamed", async (t) => {
    t.notMatch((await ask("messages", {})).text, COMMENT);
    const whole = await ask("chat", { delay_ms: 3_000 }, { stream: false });
    t.match(whole.json.choices[0].message.content, /good day/);
  });
});
