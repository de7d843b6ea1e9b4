import t from "tap";
import { CHAT_MODEL, MESSAGES_MODEL } from "../support/ask.ts";
import { billedCall, customerWith } from "../support/billed.ts";
import { noCallsInFlight, spent } from "../support/proof.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

const CREDIT_VND = 100_000;
const TEXT = "word ".repeat(40);
/** No reply has this many tokens. The cost of the second is beyond what an amount can express. */
const NUMBERS = [1e12, Number.MAX_SAFE_INTEGER];

t.test("a provider that reports more tokens than its model can have", async (t) => {
  const gateway = await sharedGateway();

  for (const tokens of NUMBERS) {
    for (const protocol of ["messages", "chat", "responses"] as const) {
      for (const stream of [false, true]) {
        for (const part of ["input_tokens", "output_tokens"] as const) {
          const what = `${protocol}, streamed: ${stream}, ${part}: ${tokens}`;
          t.test(`is not believed; the tokens are counted here: ${what}`, async (t) => {
            const customer = await customerWith(gateway, CREDIT_VND);
            const model = protocol === "messages" ? MESSAGES_MODEL : CHAT_MODEL;
            const directive = {
              input_tokens: 10,
              output_tokens: 50,
              text: TEXT,
              ignore_max_tokens: true,
              [part]: tokens,
            };
            const body = bodies[protocol](directive, { model, stream });
            const { status } = await post(gateway, paths[protocol], customer, body);
            t.equal(status, 200);
            await noCallsInFlight(gateway);
            const cost = await spent(gateway, customer.accountId, CREDIT_VND);
            t.ok(cost > 0n && cost < 100_000_000n, `it cost ${cost} µđ`);
            const record = await billedCall(gateway, customer);
            t.equal(record["estimated"], true);
            t.ok(Number(record[part]) > 0 && Number(record[part]) < 1_000, String(record[part]));
          });
        }
      }
    }
  }

  t.test("is logged", () =>
    until("the log says so", () => /more tokens than its model can have/.test(gateway.logs)),
  );
});
