import assert from "node:assert/strict";
import t from "tap";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { createCustomer, usage } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { type Download, download } from "../support/download.ts";
import type { TestGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight, spent } from "../support/proof.ts";
import type { Directive } from "../support/provider/directive.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

const CREDIT_VND = 1_000_000;

type Streamed = "/v1/messages" | "/v1/chat/completions" | "/v1/responses";

/** The directive of a stream, the event that completes it, and the event of an error. */
const STREAMS: Record<Streamed, { more: object; terminal: RegExp; error: RegExp }> = {
  "/v1/messages": {
    more: { stream: true },
    terminal: /event: message_stop/,
    error: /event: error\r?\ndata: \{"type":"error","error":\{"type":"\w+"/,
  },
  "/v1/chat/completions": {
    more: { stream: true, stream_options: { include_usage: true } },
    terminal: /data: \[DONE\]/,
    error: /data: \{"error":\{/,
  },
  "/v1/responses": {
    // The fields that the gateway adds, since it sells nothing that a provider keeps.
    more: { stream: true, store: false, include: ["reasoning.encrypted_content"] },
    terminal: /response\.(completed|incomplete)"/,
    // The provider's own error is one event; the gateway ends with the one that Codex knows.
    error: /event: error\ndata: \{"type":"error".*"error":\{.*\n\nevent: response\.failed\ndata: /,
  },
};
const PATHS = Object.keys(STREAMS) as Streamed[];

let gateway: TestGateway;
let key: string;

t.before(async () => {
  gateway = await sharedGateway();
  ({ key } = await createCustomer(gateway, { creditVnd: CREDIT_VND }));
});
function stream(path: Streamed, directive: Directive, by = key): Promise<Download> {
  const body = bodyOf(path, directive, STREAMS[path].more);
  return download(gateway.url + path, body, { "x-api-key": by }, { keep: true });
}

/** The usage record of an account's only call, once it has reached the ledger. */
async function onlyRecord(accountId: string): Promise<Record<string, unknown>> {
  let records: Record<string, unknown>[] = [];
  await until("the call is recorded", async () => {
    records = await usage(gateway, accountId);
    return records.length > 0;
  });
  assert.equal(records.length, 1);
  return records[0] ?? {};
}

t.test("a stream of the same protocol", { jobs: 16 }, async (t) => {
  const shapes: Record<string, Directive> = {
    "as it mostly is": {},
    "with line ends of CRLF": { eol: "\r\n" },
    "with comments": { comments: 2 },
    "with pings": { pings: 2 },
    "with all of these": { eol: "\r\n", comments: 3, pings: 2 },
    "a byte a packet": { split_bytes: 1, text: "a đồng, a 💸" },
    "in packets of seven bytes": { split_bytes: 7, eol: "\r\n", comments: 2, output_tokens: 20 },
    "many events a packet": { coalesce: true, output_tokens: 64 },
    "with a giant event": { giant_event_bytes: 3_000_000, ignore_max_tokens: true },
    "with reasoning": { thinking: "hm ".repeat(20), text: "so" },
    "with tool calls": { tools: [{ name: "a" }, { name: "b", arguments: { x: "đ" } }] },
    "with text that imitates its end": {
      text: '\n\ndata: [DONE]\n\nevent: message_stop\ndata: {"type":"message_stop","usage":{"output_tokens":9}}\n\n',
    },
  };
  for (const [name, directive] of Object.entries(shapes)) {
    for (const path of PATHS) {
      t.test(`arrives byte for byte ${name}: ${path}`, async (t) => {
        const body = bodyOf(path, directive, STREAMS[path].more);
        const asked = { authorization: "Bearer simulated" };
        const provider = await download(gateway.simulator.url + path, body, asked);
        const got = await stream(path, directive);
        t.equal(got.status, 200);
        t.match(String(got.headers["content-type"]), /^text\/event-stream/);
        t.equal(got.error, undefined);
        t.equal(got.bytes, provider.bytes);
        t.equal(got.hash, provider.hash);
      });
    }
  }
});

t.test("a stream that fails", { jobs: 16 }, async (t) => {
  for (const path of PATHS) {
    const { terminal, error } = STREAMS[path];

    for (const [name, directive] of Object.entries({
      "is cut off": { cut_after_events: 6 },
      "ends cleanly, but too early": { end_after_events: 6 },
    })) {
      t.test(
        `because it ${name} ends with an error in its protocol, and never looks complete: ${path}`,
        async (t) => {
          const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
          const got = await stream(path, { output_tokens: 40, ...directive }, customer.key);
          const text = got.body.toString();
          t.equal(got.error, undefined, "the connection is closed cleanly");
          t.match(text, error);
          t.notMatch(text, terminal);
          t.match(text, /\n\n$/);
          const numbers = text.match(/"sequence_number":\d+/g) ?? [];
          const isNumbered = path === "/v1/responses";
          t.equal(numbers.length, isNumbered ? text.match(/^event: /gm)?.length : 0);
          for (const [at, number] of numbers.entries()) {
            t.equal(number, `"sequence_number":${at}`, "numbers of Responses events have no gaps");
          }
          const record = await onlyRecord(customer.accountId);
          t.equal(record["outcome"], "broken");
          // 40 tokens were requested; a stream cut after six events has a few of them at most.
          t.ok(Number(record["output_tokens"]) < 20, JSON.stringify(record));
          const cost = await spent(gateway, customer.accountId, CREDIT_VND);
          t.equal(formatVnd(cost), record["cost_vnd"]);
          // An item that has begun is a delivery, even before its first text.
          t.equal(cost > 0n, Number(record["input_tokens"]) > 0);
        },
      );
    }

    t.test(`with its provider's own error event passes that on, once: ${path}`, async (t) => {
      const message = "the provider is overloaded";
      const directive = { output_tokens: 40, error_after_events: 6, error: { message } };
      const got = await stream(path, directive);
      const text = got.body.toString();
      t.equal(text.split(message).length, 2, text);
      t.notMatch(text, terminal);
      t.notMatch(text, /ended before completion|connection to the upstream/);
    });

    t.test(`in an unstreamed call becomes a 502 and costs nothing: ${path}`, async (t) => {
      const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const response = await ask(
        gateway.url,
        customer.key,
        path,
        bodyOf(path, { output_tokens: 40, cut_after_events: 6 }),
      );
      t.equal(response.status, 502);
      t.match(await response.text(), /"api_error"/);
      t.equal(await spent(gateway, customer.accountId, CREDIT_VND), 0n);
    });
  }

  t.test("in the middle of audio is cut off, and costs nothing", async (t) => {
    const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
    const body = bodyOf("/v1/audio/speech", { audio_bytes: 500_000, cut_after_events: 2 });
    const url = `${gateway.url}/v1/audio/speech`;
    const got = await download(url, body, { "x-api-key": customer.key });
    t.not(got.error, undefined);
    t.ok(got.bytes < 500_000);
    t.equal(await spent(gateway, customer.accountId, CREDIT_VND), 0n);
  });
});

t.test("streams leave no call in flight and all books in agreement", async () => {
  await noCallsInFlight(gateway);
  await assertReconciled(gateway);
});
