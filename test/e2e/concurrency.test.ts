import assert from "node:assert/strict";
import t from "tap";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { type Customer, createCustomer, wallet } from "../support/admin.ts";
import {
  ask,
  bodyOf,
  type CallPath,
  CHAT_MODEL,
  MESSAGES_MODEL,
  SPEECH_MODEL,
} from "../support/ask.ts";
import type { TestGateway } from "../support/gateway.ts";
import {
  assertReconciled,
  microVnd,
  noCallsInFlight,
  recordedCosts,
  spent,
} from "../support/proof.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const CALLS = 200;
const AFFORDED = 3;
const HOLD_SEEN_MS = 2_000;
const HELD_ATTEMPTS = 10;
const MICRO_VND_PER_TOKEN = { [MESSAGES_MODEL]: 36_000n, [CHAT_MODEL]: 38_000n };
const CALL_PRICE_VND = 1_150;

let gateway: TestGateway;

t.before(async () => {
  gateway = await sharedGateway();
});

/** Sends all requests at once and reads every reply to its end. */
async function storm(
  customer: Customer,
  requests: readonly { path: CallPath; body: string }[],
): Promise<{ status: number; text: string; costVnd: string | null }[]> {
  return Promise.all(
    requests.map(async ({ path, body }) => {
      const response = await ask(gateway.url, customer.key, path, body);
      const text = await response.text();
      const costVnd = response.headers.get("x-svc-cost-vnd");
      return { status: response.status, text, costVnd };
    }),
  );
}

/**
 * The number of tokens that the gateway holds for a request before it is served; the wallet shows
 * them while the upstream is silent.
 */
async function heldTokens(path: CallPath, body: string, microVndPerToken: bigint): Promise<bigint> {
  const { key, accountId } = await createCustomer(gateway, { creditVnd: 100_000 });
  // A busy machine may refuse a call before it holds anything, so it is tried again.
  for (let attempt = 0; attempt < HELD_ATTEMPTS; attempt += 1) {
    const leaving = new AbortController();
    let isOver = false;
    const call = ask(gateway.url, key, path, body, leaving.signal)
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    let held = "0";
    while (held === "0" && !isOver) held = (await wallet(gateway, accountId)).held;
    leaving.abort();
    await call;
    if (held !== "0") return microVnd(held) / microVndPerToken;
  }
  throw new Error("no hold was visible in the wallet");
}

/** A body whose call costs exactly what is held for it, so that no money returns to the wallet. */
async function exactCall(
  path: "/v1/messages" | "/v1/chat/completions",
  streamed: boolean,
): Promise<{ body: string; microVnd: bigint }> {
  const model = path === "/v1/messages" ? MESSAGES_MODEL : CHAT_MODEL;
  const price = MICRO_VND_PER_TOKEN[model] ?? 0n;
  const output = 500;
  const limit = path === "/v1/messages" ? "max_tokens" : "max_completion_tokens";
  // Two bodies that differ in two digits only, since the bound on the input counts their text as
  // well. The provider waits long enough for the hold to be seen.
  const build = (input: number) =>
    bodyOf(
      path,
      { input_tokens: input, output_tokens: output, delay_ms: HOLD_SEEN_MS },
      { [limit]: output, stream: streamed },
    );
  const probe = build(10);
  const held = await heldTokens(path, probe, price);
  const body = build(Number(held) - output);
  assert.equal(body.length, probe.length);
  return { body, microVnd: held * price };
}

t.test("200 calls at once on a wallet with money for 3", async (t) => {
  for (const streamed of [false, true]) {
    t.test(`serve exactly 3 at a price per token (streamed: ${streamed})`, async (t) => {
      const call = await exactCall("/v1/messages", streamed);
      const creditVnd = formatVnd(call.microVnd * BigInt(AFFORDED));
      const customer = await createCustomer(gateway, { creditVnd });

      const request = { path: "/v1/messages", body: call.body } as const;
      const replies = await storm(customer, Array(CALLS).fill(request));

      const served = replies.filter(({ status }) => status === 200);
      t.equal(served.length, AFFORDED);
      t.equal(replies.filter(({ status }) => status === 402).length, CALLS - AFFORDED);
      for (const { text } of replies.filter(({ status }) => status === 402)) {
        t.match(text, /"insufficient_balance"/);
      }
      if (streamed) for (const { text } of served) t.match(text, /event: message_stop/);
      else for (const { costVnd } of served) t.equal(costVnd, formatVnd(call.microVnd));

      t.equal(await spent(gateway, customer.accountId, creditVnd), microVnd(creditVnd));
      t.equal(await recordedCosts(gateway, customer.accountId), microVnd(creditVnd));
      t.strictSame(await wallet(gateway, customer.accountId), {
        balance: "0",
        held: "0",
        available: "0",
        pending: "0",
      });
    });
  }

  t.test("serve exactly 3 at a price per call, over two protocols, streamed and not", async (t) => {
    const creditVnd = AFFORDED * CALL_PRICE_VND;
    const customer = await createCustomer(gateway, { creditVnd });
    const requests = Array.from({ length: CALLS }, (_, at) => {
      const path = at % 2 === 0 ? ("/v1/chat/completions" as const) : ("/v1/messages" as const);
      const more = { model: "req/gpt-5.6-sol", stream: at % 3 === 0 };
      return { path, body: bodyOf(path, { output_tokens: 20 }, more) };
    });

    const replies = await storm(customer, requests);

    const statuses = replies.map(({ status }) => status).sort();
    const expected = [...Array(AFFORDED).fill(200), ...Array(CALLS - AFFORDED).fill(402)];
    t.strictSame(statuses, expected);
    t.equal(await spent(gateway, customer.accountId, creditVnd), microVnd(creditVnd));
  });

  t.test("never spend more than the wallet has, if every endpoint draws on it", async (t) => {
    const messages = await exactCall("/v1/messages", false);
    const chat = await exactCall("/v1/chat/completions", true);
    const [imageVnd, speechVnd] = [1_000, 1_350];
    const kinds = [
      { path: "/v1/messages", body: messages.body, microVnd: messages.microVnd },
      { path: "/v1/chat/completions", body: chat.body, microVnd: chat.microVnd },
      {
        path: "/v1/images/generations",
        body: bodyOf("/v1/images/generations"),
        microVnd: microVnd(imageVnd),
      },
      {
        path: "/v1/audio/speech",
        body: bodyOf("/v1/audio/speech", { audio_bytes: 30_000 }, { model: SPEECH_MODEL }),
        microVnd: microVnd(speechVnd),
      },
    ] as const;
    const prices = kinds.map((kind) => kind.microVnd);
    const creditVnd = 3 * speechVnd;
    const customer = await createCustomer(gateway, { creditVnd });

    const requests = Array.from({ length: CALLS }, (_, at) => kinds[at % kinds.length]!);
    const replies = await storm(customer, requests);

    let full = 0n;
    for (const [at, { status }] of replies.entries()) {
      t.ok(status === 200 || status === 402, `call ${at}: ${status}`);
      if (status === 200) full += prices[at % kinds.length]!;
    }
    const cost = await spent(gateway, customer.accountId, creditVnd);
    t.equal(await recordedCosts(gateway, customer.accountId), cost);
    const left = microVnd(creditVnd) - cost;
    if (full > cost) {
      // The last call with a price per token may have got the rest, with a lower limit on its
      // output.
      const token = MICRO_VND_PER_TOKEN[CHAT_MODEL] ?? 0n;
      t.ok(left < token, `${left} µđ are left, enough for another token`);
    }
    // No money came back to the wallet, so no refused call would fit into the rest either.
    const refused = replies.flatMap(({ status }, at) => (status === 402 ? [at] : []));
    for (const at of refused) {
      t.ok(prices[at % kinds.length]! > left, `call ${at} would fit`);
    }
  });

  t.test("leave no open call, no money held and both stores in agreement", async (t) => {
    await noCallsInFlight(gateway);
    const stats = await gateway.simulator.stats();
    for (const [path, { open }] of Object.entries(stats)) t.equal(open, 0, path);
    await assertReconciled(gateway);
  });
});
