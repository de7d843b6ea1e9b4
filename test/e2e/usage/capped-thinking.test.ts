import t from "tap";
import { billedCall, customerWith } from "../../support/billed.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

const CAP = 500;
/** More thinking and text than the cap, in tokens of 4 bytes. */
const THOUGHT = { thinking: "hmm ".repeat(2_000), text: "fine".repeat(1_000) };
const CAPS = {
  messages: { max_tokens: CAP },
  chat: { max_tokens: CAP },
  responses: { max_output_tokens: CAP },
} as const;

t.test("the cap of a call ends the thinking of Qwen too, which the hold covers", async (t) => {
  const gateway = await sharedGateway();

  for (const protocol of ["messages", "chat", "responses"] as const) {
    for (const stream of [false, true]) {
      t.test(`${protocol}, streamed: ${stream}`, async (t) => {
        const customer = await customerWith(gateway);
        const more = { model: "qwen3.7-max", stream, ...CAPS[protocol] };
        const { status, text } = await post(
          gateway,
          paths[protocol],
          customer,
          bodies[protocol](THOUGHT, more),
        );
        t.equal(status, 200, text);
        const { output_tokens: tokens } = await billedCall(gateway, customer);
        t.ok(Number(tokens) > 0 && Number(tokens) <= CAP, String(tokens));
      });
    }
  }
});
