import assert from "node:assert/strict";
import t from "tap";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { createCustomer } from "../support/admin.ts";
import { ask, bodyOf, MESSAGES_MODEL } from "../support/ask.ts";
import { startProduction } from "../support/production.ts";
import {
  assertReconciled,
  microVnd,
  noCallsInFlight,
  recordedCosts,
  spent,
} from "../support/proof.ts";

const AFFORDED = 7;
const CALLS = 500;
/** Twenty times what a stream holds at first. */
const LONG_TOKENS = 20_000;
/** With its 1,000 tokens of input. */
const LONG_COST_VND = 756;
/** A stream whose wallet covers no other extension is cut before this much is left. */
const LONG_SLICE_MICRO_VND = 60_000_000n;
/** Priced per call, so its hold equals its cost and nothing returns to the wallet. */
const CALL_MODEL = "req/gpt-5.6-sol";
const CALL_PRICE_MICRO_VND = 1_150_000_000n;

t.test("two gateway processes on one Redis and one Postgres", async (t) => {
  const parts = await startProduction();
  t.teardown(() => parts.close());
  const gatewayOf = (turn: number) => parts.gateways[turn % parts.gateways.length]!;

  for (const streamed of [false, true]) {
    t.test(
      `serve exactly 7 of 500 calls at once on a wallet with money for 7 (streamed: ${streamed})`,
      async (t) => {
        // One µđ short of an eighth call.
        const credit = CALL_PRICE_MICRO_VND * BigInt(AFFORDED + 1) - 1n;
        const creditVnd = formatVnd(credit);
        const { key, accountId } = await createCustomer(gatewayOf(0), { creditVnd });
        const body = bodyOf(
          "/v1/chat/completions",
          { output_tokens: 20 },
          { model: CALL_MODEL, stream: streamed },
        );
        const statuses = await Promise.all(
          Array.from({ length: CALLS }, async (_, turn) => {
            const response = await ask(gatewayOf(turn).url, key, "/v1/chat/completions", body);
            const text = await response.text();
            if (response.status === 402) t.match(text, /"insufficient_balance"/);
            else if (streamed) t.match(text, /\[DONE\]/);
            return response.status;
          }),
        );
        const count = (status: number) => statuses.filter((one) => one === status).length;
        t.strictSame([count(200), count(402)], [AFFORDED, CALLS - AFFORDED]);
        for (const gateway of parts.gateways) await noCallsInFlight(gateway);
        const cost = CALL_PRICE_MICRO_VND * BigInt(AFFORDED);
        for (const gateway of parts.gateways) {
          t.equal(await spent(gateway, accountId, creditVnd), cost);
          t.equal(await recordedCosts(gateway, accountId), cost);
        }
        t.equal(microVnd(creditVnd) - cost, CALL_PRICE_MICRO_VND - 1n);
        await assertReconciled(gatewayOf(1));
      },
    );
  }

  t.test(
    "charge long streams that outrun their holds, and cut the one whose wallet is empty",
    async (t) => {
      const body = bodyOf(
        "/v1/messages",
        { input_tokens: 1_000, output_tokens: LONG_TOKENS },
        { model: MESSAGES_MODEL, stream: true, max_tokens: LONG_TOKENS },
      );
      const credits = [LONG_COST_VND / 2, ...Array.from({ length: 8 }, () => 1_000)];
      const customers = await Promise.all(
        credits.map(async (creditVnd, at) => ({
          ...(await createCustomer(gatewayOf(at), { creditVnd })),
          creditVnd,
        })),
      );
      const stream = async (
        { key, accountId, creditVnd }: (typeof customers)[number],
        turn: number,
      ) => {
        const response = await ask(gatewayOf(turn).url, key, "/v1/messages", body);
        const text = await response.text();
        await noCallsInFlight(gatewayOf(turn));
        const spentMicroVnd = await spent(gatewayOf(turn + 1), accountId, String(creditVnd));
        return { isWhole: text.includes("message_stop"), text, spentMicroVnd };
      };
      const [short, ...served] = await Promise.all(customers.map(stream));
      assert.ok(short);
      for (const { isWhole, spentMicroVnd } of served) {
        t.ok(isWhole);
        t.equal(spentMicroVnd, BigInt(LONG_COST_VND) * 1_000_000n);
      }
      t.notOk(short.isWhole);
      t.match(short.text, /insufficient_balance/);
      const leftMicroVnd = BigInt(LONG_COST_VND / 2) * 1_000_000n - short.spentMicroVnd;
      t.ok(leftMicroVnd >= 0n && leftMicroVnd < LONG_SLICE_MICRO_VND, `${leftMicroVnd} µđ left`);
      await assertReconciled(gatewayOf(0));
    },
  );
});
