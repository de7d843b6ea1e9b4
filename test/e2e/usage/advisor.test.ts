import t from "tap";
import { billedCall, customerWith } from "../../support/billed.ts";
import { startGateway } from "../../support/gateway.ts";
import { bodies, get, paths, post } from "../../support/requests.ts";

/** The model of the call costs 36,000 đ per million tokens, its advisor 55,000 đ. */
const MAIN = 0.036;
const ADVISOR = 0.055;
const PASSES = { main: 2_663, advisor: 2_663 };

const pass = (type: string, input_tokens: number, output_tokens: number, more: object = {}) => ({
  ...{ type, input_tokens, output_tokens, cache_read_input_tokens: 0 },
  ...more,
});
const usage = (model: string) => ({
  input_tokens: 2_482,
  output_tokens: 181,
  iterations: [
    pass("message", 1_128, 155),
    // Cached tokens stand beside the input, and are charged once.
    pass("advisor_message", 564, 99, {
      ...{ model, cache_read_input_tokens: 1_500, cache_creation_input_tokens: 500 },
    }),
    pass("message", 1_354, 26),
  ],
});

t.test("an advisor that a call asks", async (t) => {
  const gateway = await startGateway({
    config: { upstreams: { anthropic: { features: { advisor: {} } } } },
  });
  t.teardown(() => gateway.close());

  const rows: readonly (readonly [what: string, model: string, priceVnd: number])[] = [
    ["at its own price", "claude-fable-5-2", ADVISOR],
    ["at the price of the model if the catalogue has none", "claude-unlisted", MAIN],
  ];
  for (const [what, model, priceVnd] of rows) {
    for (const stream of [false, true]) {
      t.test(`is charged ${what}, streamed: ${stream}`, async (t) => {
        const customer = await customerWith(gateway);
        const reports = stream
          ? [
              ["message_start", { input_tokens: 1_128, output_tokens: 1 }],
              ["message_delta", usage(model)],
            ]
          : [["usage", usage(model)]];
        const tools = [{ type: "advisor_20260301", name: "advisor", model }];
        const body = bodies.messages({ text: "Fine.", reports } as object, { stream, tools });
        const { status, text, headers } = await post(gateway, paths.messages, customer, body);
        t.equal(status, 200, text);
        const cost = PASSES.main * MAIN + PASSES.advisor * priceVnd;
        const record = await billedCall(gateway, customer);
        t.equal(Number(record["cost_vnd"]), Number(cost.toFixed(6)));
        const tokens = Number(record["input_tokens"]) + Number(record["output_tokens"]);
        t.equal(tokens, PASSES.main + PASSES.advisor);
        const explained = await get(gateway, `/v1/calls/${headers.get("x-request-id")}`, customer);
        t.equal(explained.status, 200, explained.text);
        t.match(explained.text, new RegExp(`"${record["cost_vnd"]}"`));
      });
    }
  }
});
