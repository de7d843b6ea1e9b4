import t from "tap";
import { assertBalance, assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, deliveredText, eventsOf, paths, post, reload } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** A client of each protocol, on a model of the other. */
const CROSSED = [
  { path: paths.messages, model: "gpt-4.1-nano", upstream: "openai" },
  { path: paths.chat, model: "claude-opus-5-5", upstream: "anthropic" },
] as const;
type Crossed = (typeof CROSSED)[number];

const ANSWER: Directive = {
  thinking: "Để tôi nghĩ đã 🌏.",
  signature: "sig",
  text: 'một "hai"\\ ba 🌾\n',
  tools: [
    { name: "weather", arguments: { city: "Huế" }, id: "t_1" },
    { name: "clock", arguments: { at: ["12:00", "🕛"] }, id: "t_2" },
  ],
  input_tokens: 10,
  output_tokens: 20,
};

/** Ways in which the same stream may be split and framed. */
const WIRES: readonly Directive[] = [
  { eol: "\r\n" },
  { split_bytes: 1 },
  { split_bytes: 7, eol: "\r\n" },
  { coalesce: true },
  { comments: 1 },
  { pings: 2 },
  { event_delay_ms: 0 },
];

t.test("translated replies on the wire", async (t) => {
  const gateway = await sharedGateway();

  async function ask(
    { path, model }: Crossed,
    directive: Directive,
    more: object = {},
    creditVnd?: string,
  ) {
    const customer = await customerWith(gateway, creditVnd);
    const messages = [{ role: "user", content: asking(directive) }];
    const answer = await post(gateway, path, customer, {
      model,
      max_tokens: 4096,
      messages,
      ...more,
    });
    return { customer, answer };
  }

  for (const crossed of CROSSED) {
    t.test(`${crossed.path} on ${crossed.model}`, async (t) => {
      const stream = { stream: true };

      t.test("have the same events however the upstream's bytes are split", async (t) => {
        // Ids are derived from the request, which includes the directive.
        const read = async (wire: Directive) => {
          const { answer } = await ask(crossed, { ...ANSWER, ...wire }, stream);
          return eventsOf(answer.text)
            .filter(({ type }) => type !== "ping")
            .map((event) =>
              JSON.stringify(event)
                .replace(/(msg_)[0-9a-f]+/, "$1")
                .replace(/"created":\d+/, "")
                // An estimate, from the length of the request.
                .replace(/("message_start".*"input_tokens":)\d+/, "$1"),
            );
        };
        const plain = await read({});
        t.ok(plain.length > 10);
        for (const wire of WIRES) t.strictSame(await read(wire), plain, JSON.stringify(wire));
      });

      t.test("end with their one final event, and nothing after it", async (t) => {
        const { answer } = await ask(crossed, ANSWER, stream);
        const end = crossed.path === paths.messages ? '{"type":"message_stop"}' : "[DONE]";
        t.ok(answer.text.endsWith(`data: ${end}\n\n`));
        t.equal(answer.text.split(end).length, 2);
        t.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
      });

      t.test(
        "are an error in the client's shape if a proxy replies with its own page",
        async (t) => {
          const page = { body: "<html>Not Found</html>", content_type: "text/html" };
          for (const more of [{}, stream]) {
            for (const [status, expected] of [
              // The gateway chose the address.
              [404, 502],
              [413, 413],
              [429, 429],
              [500, 502],
            ] as const) {
              const { answer, customer } = await ask(crossed, { status, ...page }, more);
              t.equal(answer.status, expected);
              t.ok(answer.json.error.message.length > 10);
              t.ok(!answer.text.includes("html"));
              t.equal(answer.json.type, crossed.path === paths.messages ? "error" : undefined);
              await assertNotCharged(gateway, customer);
            }
          }
        },
      );

      t.test("never reveal the gateway's own upstream account", async (t) => {
        for (const status of [401, 402, 403]) {
          const { answer } = await ask(crossed, { status, error: { message: "account acme-7" } });
          t.equal(answer.status, 502);
          t.ok(!answer.text.includes("acme-7"));
        }
      });

      t.test(
        "are cut if the wallet runs out, in the client's protocol, and cost the wallet's balance",
        async (t) => {
          // Output that hides no reasoning is held a slice at a time, so that it can run out.
          const isChat = crossed.path === paths.chat;
          const quiet = isChat ? { ...stream, model: "claude-opus-4-8" } : stream;
          const money = isChat ? "60" : "2.25";
          const { answer, customer } = await ask(crossed, { output_tokens: 4000 }, quiet, money);
          const last = eventsOf(answer.text).at(-1);
          t.match(last.error.message, /balance/);
          if (crossed.path === paths.messages) t.equal(last.type, "error");
          else t.equal(last.error.code, "insufficient_balance");
          t.ok(!answer.text.includes("[DONE]") && !answer.text.includes("message_stop"));
          t.ok(deliveredText(answer.text).length > 4000);
          const record = await billedCall(gateway, customer);
          t.equal(record["outcome"], "exhausted");
          t.ok(Number(record["cost_vnd"]) <= Number(money));
        },
      );

      t.test("that are malformed become an error, free of charge", async (t) => {
        for (const reply of [
          {},
          { error: { message: "We failed.", type: "x" } },
          { choices: [] },
        ]) {
          const upstream = await startOneReplyUpstream(reply);
          try {
            const { url } = upstream;
            const protocols = { messages: url, chat: `${url}/v1` };
            await reload(gateway, {
              config: { upstreams: { [crossed.upstream]: { protocols, keys: ["k"] } } },
            });
            for (const more of [{}, stream]) {
              const { answer, customer } = await ask(crossed, {}, more);
              t.ok(answer.status >= 500, `${answer.status} ${answer.text}`);
              t.ok(answer.json.error.message.length > 5);
              await assertBalance(gateway, customer, "100000");
            }
          } finally {
            await reload(gateway, {});
            await upstream.stop();
          }
        }
      });
    });
  }
});
