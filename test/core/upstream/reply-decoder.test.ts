import t from "tap";
import { billedCall, customerWith } from "../../support/billed.ts";
import { TEST_PRICE_VND_PER_MTOK } from "../../support/catalogue.ts";
import { startGatewayOfKinds } from "../../support/gateway-of-kinds.ts";
import { type Answer, deliveredText, eventsOf, paths, post } from "../../support/requests.ts";
import { type Behaviour, startSignedProvider, USED } from "./kinds/signed-provider.ts";
import { signing } from "./kinds/signing.ts";

const SECRET = "a-secret";
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  whole: "frames",
  cut: "cuts frames",
  broken: "breaks frames",
};

t.test("a stream in a provider's own format", async (t) => {
  const upstreams: Record<string, object> = {};
  for (const [name, behaviour] of Object.entries(BEHAVIOURS)) {
    const provider = await startSignedProvider(SECRET, behaviour);
    t.teardown(() => provider.stop());
    upstreams[name] = { kind: "signing", address: provider.url, secret: SECRET };
  }
  const models = Object.fromEntries(Object.keys(BEHAVIOURS).map((name) => [name, [name]]));
  const gateway = await startGatewayOfKinds(signing, upstreams, models);
  t.teardown(() => gateway.close());

  async function stream(
    model: string,
  ): Promise<{ answer: Answer; record: Record<string, unknown> }> {
    const customer = await customerWith(gateway);
    const messages = [{ role: "user", content: "hello" }];
    const body = { model, max_tokens: 100, stream: true, messages };
    const answer = await post(gateway, paths.messages, customer, body);
    return { answer, record: await billedCall(gateway, customer) };
  }

  t.test(
    "reaches the client as server-sent events, though split anywhere, and is charged exactly",
    async (t) => {
      const { answer, record } = await stream("whole");
      t.equal(answer.headers.get("content-type"), "text/event-stream");
      t.equal(deliveredText(answer.text), "signed and served");
      t.equal(eventsOf(answer.text).at(-1).type, "message_stop");
      const { input_tokens, output_tokens } = USED;
      const cost_vnd = String(((input_tokens + output_tokens) * TEST_PRICE_VND_PER_MTOK) / 1e6);
      t.strictSame(
        [record["input_tokens"], record["output_tokens"], record["cost_vnd"]],
        [input_tokens, output_tokens, cost_vnd],
      );
    },
  );

  t.test("that is cut off ends in an error", async (t) => {
    const { answer } = await stream("cut");
    t.match(eventsOf(answer.text).at(-1).error.message, /ended before completion/);
  });

  t.test("that cannot be read ends in an error", async (t) => {
    const { answer } = await stream("broken");
    t.equal(answer.status, 502);
    t.match(answer.json.error.message, /cannot read/);
  });
});
