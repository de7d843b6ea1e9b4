import t from "tap";
import { billedCall, customerWith } from "../../support/billed.ts";
import { bodies, eventsOf, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

/** As Azure reports Grok, with fewer cached tokens than others: the numbers alone do not prove it. */
const CHAT = {
  prompt_tokens: 100,
  completion_tokens: 5,
  total_tokens: 105,
  prompt_tokens_details: { cached_tokens: 80 },
};
const RESPONSES = {
  input_tokens: 100,
  output_tokens: 5,
  total_tokens: 105,
  input_tokens_details: { cached_tokens: 80 },
};
const INPUT = 180;

t.test("cached tokens of a provider that reports them beside the input", async (t) => {
  const gateway = await sharedGateway({
    upstreams: { openai: { profile: { cached_tokens: "beside" } } },
  });

  for (const stream of [false, true]) {
    for (const protocol of ["chat", "messages", "responses"] as const) {
      t.test(`are charged: ${protocol}, streamed: ${stream}`, async (t) => {
        const customer = await customerWith(gateway);
        const place = stream && protocol !== "responses" ? "last" : "usage";
        const report = protocol === "responses" ? RESPONSES : CHAT;
        const directive = {
          text: "Fine.",
          reports: [[place, report]] satisfies [string, object][],
        };
        const model = "gpt-4.1-nano";
        const body = bodies[protocol](directive as object, { model, stream });
        const { status, text, json } = await post(gateway, paths[protocol], customer, body);
        t.equal(status, 200, text);
        const record = await billedCall(gateway, customer);
        t.strictSame([record["input_tokens"], record["output_tokens"]], [INPUT, 5]);
        if (protocol !== "messages") return;
        const events = stream ? eventsOf(text) : [json];
        const usage = events.findLast((event) => event.usage)?.usage;
        const { input_tokens: fresh, cache_read_input_tokens: cached } = usage;
        t.strictSame([fresh, cached], [100, 80], "and shown");
      });
    }
  }
});
