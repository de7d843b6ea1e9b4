import assert from "node:assert/strict";
import t from "tap";
import { arrayOf, isObject, objectOf } from "../../../core/process/json.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { admin, type Customer } from "../../support/admin.ts";
import { assertNotCharged, billedCall, customerWith } from "../../support/billed.ts";
import { TEST_PRICE_VND_PER_MTOK } from "../../support/catalogue.ts";
import {
  type GatewayOfKinds,
  PRICE_VND_PER_IMAGE,
  startGatewayOfKinds,
} from "../../support/gateway-of-kinds.ts";
import { noCallsInFlight } from "../../support/proof.ts";
import { type Answer, openStream, paths, post, send } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { type SignedProvider, startSignedProvider, USED } from "./kinds/signed-provider.ts";
import { signing } from "./kinds/signing.ts";
import { startTokenServer, type TokenServer } from "./kinds/token-server.ts";

const SECRETS = { first: "first-secret", second: "second-secret", broken: "broken-secret" };
const TOKEN = "a-token-to-keep";
/** The cost of a call that uses `USED`, in đ. */
const COST_VND = String(((USED.input_tokens + USED.output_tokens) * TEST_PRICE_VND_PER_MTOK) / 1e6);

/** The upstreams of each model. */
const MODELS = {
  retried: ["broken", "second"],
  "req/image": ["first"],
  "req/image-retried": ["broken", "second"],
  passed: ["forms", "second"],
};

t.test("a kind that signs, with a fetched token", async (t) => {
  const first = await startSignedProvider(SECRETS.first, "serves", TOKEN);
  t.teardown(() => first.stop());
  const second = await startSignedProvider(SECRETS.second, "serves", TOKEN);
  t.teardown(() => second.stop());
  const broken = await startSignedProvider(SECRETS.broken, "fails", TOKEN);
  t.teardown(() => broken.stop());
  const tokens = await startTokenServer(TOKEN);
  t.teardown(() => tokens.stop());
  const upstream = (provider: SignedProvider, secret: string, more: object = {}) => ({
    kind: "signing",
    address: provider.url,
    secret,
    token_address: tokens.url,
    ...more,
  });
  const upstreams = {
    first: upstream(first, SECRETS.first),
    second: upstream(second, SECRETS.second),
    broken: upstream(broken, SECRETS.broken),
    forms: upstream(first, SECRETS.first, { forms_only: true }),
  };
  const gateway = await startGatewayOfKinds(signing, upstreams, MODELS);
  t.teardown(() => gateway.close());

  async function charged(customer: Customer, answer: Answer, vnd: string): Promise<void> {
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await billedCall(gateway, customer))["cost_vnd"], vnd);
    assert.equal(first.refused + second.refused + broken.refused, 0, "every signature was good");
  }

  t.test("signs the encoded bytes of a form", async (t) => {
    const customer = await customerWith(gateway);
    const answer = await send(gateway, paths.edits, imageEdit(customer, "req/image"));
    await charged(customer, answer, String(PRICE_VND_PER_IMAGE));
    const request = first.requests.at(-1);
    t.match(request?.contentType ?? "", /^multipart\/form-data; boundary=tollgate-/);
    t.match(request?.body ?? "", /name="model"\r\n\r\nimage-0\r\n/);
  });

  for (const stream of [false, true]) {
    t.test(`signs again for the next route's own address, streamed: ${stream}`, async (t) => {
      const customer = await customerWith(gateway);
      const body = { ...messages("retried"), stream };
      const answer = await post(gateway, paths.messages, customer, body);
      await charged(customer, answer, COST_VND);
      const operation = stream ? "invoke-stream" : "invoke";
      t.equal(broken.requests.at(-1)?.path, `/model/retried-0/${operation}`);
      t.equal(second.requests.at(-1)?.path, `/model/retried-1/${operation}`);
    });
  }

  t.test("signs a form again for the next route, with that route's model", async (t) => {
    const customer = await customerWith(gateway);
    const answer = await send(gateway, paths.edits, imageEdit(customer, "req/image-retried"));
    await charged(customer, answer, String(PRICE_VND_PER_IMAGE));
    t.match(broken.requests.at(-1)?.body ?? "", /\r\n\r\nimage-retried-0\r\n/);
    t.match(second.requests.at(-1)?.body ?? "", /\r\n\r\nimage-retried-1\r\n/);
  });

  t.test("leaves a request that it cannot express to the next route", async (t) => {
    const customer = await customerWith(gateway);
    const before = first.requests.length;
    const answer = await post(gateway, paths.messages, customer, messages("passed"));
    await charged(customer, answer, COST_VND);
    t.equal(first.requests.length, before);
  });

  t.test("caches its token", async (t) => {
    t.equal(tokens.asked, Object.keys(SECRETS).length, "one for each upstream");
  });
});

t.test("asynchronous credentials", async (t) => {
  const provider = await startSignedProvider(SECRETS.first, "serves", TOKEN);
  t.teardown(() => provider.stop());
  const second = await startSignedProvider(SECRETS.second, "serves");
  t.teardown(() => second.stop());
  let tokens: TokenServer;
  let gateway: GatewayOfKinds;

  const start = async (changes: Parameters<typeof startGatewayOfKinds>[3]) => {
    const { url: address } = provider;
    const token = { kind: "signing", address, secret: SECRETS.first, token_address: tokens.url };
    const other = { kind: "signing", address: second.url, secret: SECRETS.second };
    const models = { alone: ["token"], backed: ["token", "other"] };
    gateway = await startGatewayOfKinds(signing, { token, other }, models, changes);
  };
  t.beforeEach(async () => {
    tokens = await startTokenServer(TOKEN);
  });

  /** Fails if the gateway sent anything to the provider, or logged a secret. */
  t.afterEach(async () => {
    await noCallsInFlight(gateway).finally(() => gateway.close());
    await tokens.stop();
    assert.deepEqual([provider.requests.length, provider.refused], [0, 0], "nothing went upstream");
    assert.doesNotMatch(JSON.stringify(gateway.logLines), /-secret|a-token/);
  });

  t.test(
    "that are refused: the next route serves, and the log has the reason and no secret",
    async (t) => {
      await start({});
      tokens.does = "refuse";
      const customer = await customerWith(gateway);
      const answer = await post(gateway, paths.messages, customer, messages("backed"));
      t.equal(answer.status, 200, answer.text);
      t.equal((await billedCall(gateway, customer))["cost_vnd"], COST_VND);
      const line = gateway.logLines.find(({ msg }) =>
        String(msg).startsWith("cannot get credentials"),
      );
      t.strictSame([line?.["upstream"], line?.["reason"]], ["token", "no credentials: RangeError"]);
      t.equal(await lastFailure(gateway), "no credentials: RangeError");
    },
  );

  t.test("that are refused on the only route: 502, and nothing is charged", async (t) => {
    await start({});
    tokens.does = "refuse";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("alone"));
    t.equal(answer.status, 502);
    t.equal(answer.json.error.type, "api_error");
    await assertNotCharged(gateway, customer);
  });

  t.test("that never arrive: after connect_seconds the next route serves", async (t) => {
    await start({ config: { limits: { connect_seconds: 1 } } });
    tokens.does = "wait";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("backed"));
    t.equal(answer.status, 200, answer.text);
    tokens.release();
    t.equal(await lastFailure(gateway), "no credentials: timed out");
  });

  for (const leaving of ["cancel", "drain"] as const) {
    t.test(`whose client leaves first: nothing is sent upstream (${leaving})`, async (t) => {
      await start({ plugins: { settle: { when_client_leaves: leaving } } });
      tokens.does = "wait";
      const customer = await customerWith(gateway);
      const before = second.requests.length;
      const call = await openStream(gateway, paths.messages, customer, messages("backed"));
      await until("a token is waited for", () => tokens.asked === 1);
      call.leave();
      // With `drain` the call stays in flight until its token arrives.
      if (leaving === "cancel") await noCallsInFlight(gateway);
      else await until("the gateway knows", () => gateway.calls.some(({ gone }) => gone));
      tokens.release();
      await noCallsInFlight(gateway);
      await assertNotCharged(gateway, customer);
      t.equal(second.requests.length, before);
    });
  }

  t.test("whose call times out first: 504, and nothing is sent upstream", async (t) => {
    await start({ config: { limits: { call_seconds: 1 } } });
    tokens.does = "wait";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("backed"));
    t.equal(answer.status, 504, answer.text);
    tokens.release();
    await assertNotCharged(gateway, customer);
  });
});

/** The last failure of the upstream that needs a token, as shown to operators. */
async function lastFailure(gateway: GatewayOfKinds): Promise<unknown> {
  const { body } = await admin(gateway, "GET", "/upstreams");
  const shown = JSON.stringify(body);
  assert.match(shown, /"name":"token","kind":"signing","address":"http/);
  assert.doesNotMatch(shown, /-secret|a-token/);
  const upstreams = arrayOf(body["upstreams"]).filter(isObject);
  const breakers = arrayOf(upstreams.find(({ name }) => name === "token")?.["breakers"]).map(
    objectOf,
  );
  return objectOf(breakers.find((one) => one?.["last_failure"])?.["last_failure"])?.["reason"];
}

function messages(model: string): object {
  return { model, max_tokens: 100, messages: [{ role: "user", content: "hello" }] };
}

function imageEdit({ key }: Customer, model: string): RequestInit {
  const body = new FormData();
  body.set("model", model);
  body.set("prompt", "in blue");
  body.set(
    "image",
    new Blob([Uint8Array.from(makePng(4, 4, 0x00ff00))], { type: "image/png" }),
    "a.png",
  );
  return { method: "POST", headers: { authorization: `Bearer ${key}` }, body };
}
