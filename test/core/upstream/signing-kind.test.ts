import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { arrayOf, isObject, objectOf } from "../../../core/process/json.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { admin, type Customer } from "../../support/admin.ts";
import { assertNotCharged, billedCall, customerWith } from "../../support/billed.ts";
import {
  type GatewayOfKinds,
  PRICE_VND_PER_IMAGE,
  PRICE_VND_PER_MTOK,
  startGatewayOfKinds,
} from "../../support/gateway-of-kinds.ts";
import { noCallsInFlight } from "../../support/proof.ts";
import { type Answer, eventsOf, openStream, paths, post, send } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { type SignedProvider, startSignedProvider, USED } from "./kinds/signed-provider.ts";
import { signing } from "./kinds/signing.ts";
import { startTokenServer, type TokenServer } from "./kinds/token-server.ts";

const SECRETS = { first: "first-secret", second: "second-secret", broken: "broken-secret" };
const TOKEN = "a-token-to-keep";
/** What a call costs that uses `USED`, in đ. */
const COST_VND = String(((USED.input_tokens + USED.output_tokens) * PRICE_VND_PER_MTOK) / 1e6);

/** By model, the upstreams that serve it. */
const MODELS = {
  plain: ["first"],
  retried: ["broken", "second"],
  "req/image": ["first"],
  "req/image-retried": ["broken", "second"],
  passed: ["forms", "second"],
};

for (const token of [undefined, TOKEN]) {
  describe(`a kind that signs, ${token ? "with a token that it fetches" : "at once"}`, () => {
    let first: SignedProvider;
    let second: SignedProvider;
    let broken: SignedProvider;
    let tokens: TokenServer;
    let gateway: GatewayOfKinds;

    before(async () => {
      first = await startSignedProvider(SECRETS.first, "serves", token);
      second = await startSignedProvider(SECRETS.second, "serves", token);
      broken = await startSignedProvider(SECRETS.broken, "fails", token);
      tokens = await startTokenServer(TOKEN);
      const upstream = (provider: SignedProvider, secret: string, more: object = {}) => ({
        kind: "signing",
        address: provider.url,
        secret,
        ...(token && { token_address: tokens.url }),
        ...more,
      });
      const upstreams = {
        first: upstream(first, SECRETS.first),
        second: upstream(second, SECRETS.second),
        broken: upstream(broken, SECRETS.broken),
        forms: upstream(first, SECRETS.first, { forms_only: true }),
      };
      gateway = await startGatewayOfKinds(signing, upstreams, MODELS);
    });
    after(async () => {
      await gateway.close();
      await Promise.all([first, second, broken, tokens].map((server) => server.stop()));
    });

    async function charged(customer: Customer, answer: Answer, vnd: string): Promise<void> {
      assert.equal(answer.status, 200, answer.text);
      assert.equal((await billedCall(gateway, customer))["cost_vnd"], vnd);
      assert.equal(first.refused + second.refused + broken.refused, 0, "every signature was good");
    }

    it("serves a whole reply", async () => {
      const customer = await customerWith(gateway);
      const answer = await post(gateway, paths.messages, customer, messages("plain"));
      assert.equal(answer.json.content[0].text, "signed and served");
      await charged(customer, answer, COST_VND);
      const request = first.requests.at(-1);
      assert.equal(request?.path, "/model/plain-0/invoke");
      assert.deepEqual(Object.keys(JSON.parse(request?.body ?? "")), ["max_tokens", "messages"]);
    });

    it("serves a stream", async () => {
      const customer = await customerWith(gateway);
      const body = { ...messages("plain"), stream: true };
      const answer = await post(gateway, paths.messages, customer, body);
      assert.equal(eventsOf(answer.text).at(-1).type, "message_stop");
      await charged(customer, answer, COST_VND);
      assert.equal(first.requests.at(-1)?.path, "/model/plain-0/invoke-stream");
    });

    it("signs a form as its bytes go out", async () => {
      const customer = await customerWith(gateway);
      const answer = await send(gateway, paths.edits, imageEdit(customer, "req/image"));
      await charged(customer, answer, String(PRICE_VND_PER_IMAGE));
      const request = first.requests.at(-1);
      assert.match(request?.contentType ?? "", /^multipart\/form-data; boundary=tollgate-/);
      assert.match(request?.body ?? "", /name="model"\r\n\r\nimage-0\r\n/);
    });

    for (const stream of [false, true]) {
      it(`signs again for the next route's own address, streamed: ${stream}`, async () => {
        const customer = await customerWith(gateway);
        const body = { ...messages("retried"), stream };
        const answer = await post(gateway, paths.messages, customer, body);
        await charged(customer, answer, COST_VND);
        const operation = stream ? "invoke-stream" : "invoke";
        assert.equal(broken.requests.at(-1)?.path, `/model/retried-0/${operation}`);
        assert.equal(second.requests.at(-1)?.path, `/model/retried-1/${operation}`);
      });
    }

    it("signs a form again for the next route, with that route's model in it", async () => {
      const customer = await customerWith(gateway);
      const answer = await send(gateway, paths.edits, imageEdit(customer, "req/image-retried"));
      await charged(customer, answer, String(PRICE_VND_PER_IMAGE));
      assert.match(broken.requests.at(-1)?.body ?? "", /\r\n\r\nimage-retried-0\r\n/);
      assert.match(second.requests.at(-1)?.body ?? "", /\r\n\r\nimage-retried-1\r\n/);
    });

    it("passes on to the next route what it cannot express", async () => {
      const customer = await customerWith(gateway);
      const before = first.requests.length;
      const answer = await post(gateway, paths.messages, customer, messages("passed"));
      await charged(customer, answer, COST_VND);
      assert.equal(first.requests.length, before);
    });

    it("describes itself to operators without its secret", async () => {
      const response = await fetch(`${gateway.url}/admin/v1/upstreams`, {
        headers: { authorization: `Bearer ${gateway.adminToken}` },
      });
      const text = await response.text();
      assert.ok(text.includes(`"name":"first","kind":"signing","address":"${first.url}"`), text);
      assert.doesNotMatch(text, /-secret/);
    });

    if (token) {
      it("keeps its token", () => {
        assert.equal(tokens.asked, Object.keys(SECRETS).length, "one for each upstream");
      });
    }
  });
}

describe("credentials that have to be waited for", () => {
  let provider: SignedProvider;
  let second: SignedProvider;
  let tokens: TokenServer;
  let gateway: GatewayOfKinds;

  const start = async (changes: Parameters<typeof startGatewayOfKinds>[3]) => {
    const { url: address } = provider;
    const token = { kind: "signing", address, secret: SECRETS.first, token_address: tokens.url };
    const other = { kind: "signing", address: second.url, secret: SECRETS.second };
    const models = { alone: ["token"], backed: ["token", "other"] };
    gateway = await startGatewayOfKinds(signing, { token, other }, models, changes);
  };
  before(async () => {
    provider = await startSignedProvider(SECRETS.first, "serves", TOKEN);
    second = await startSignedProvider(SECRETS.second, "serves");
  });
  beforeEach(async () => {
    tokens = await startTokenServer(TOKEN);
  });
  after(() => Promise.all([provider.stop(), second.stop()]));

  /** Stops the gateway, which must have sent nothing to the provider, and logged none of its secrets. */
  async function finish(): Promise<void> {
    await noCallsInFlight(gateway);
    await gateway.close();
    await tokens.stop();
    assert.deepEqual([provider.requests.length, provider.refused], [0, 0], "nothing went upstream");
    assert.doesNotMatch(JSON.stringify(gateway.logLines), /-secret|a-token/);
  }

  it("and are refused: the next route serves, the log says why and no secret", async () => {
    await start({});
    tokens.does = "refuse";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("backed"));
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await billedCall(gateway, customer))["cost_vnd"], COST_VND);
    const line = gateway.logLines.find(({ msg }) =>
      String(msg).startsWith("cannot get credentials"),
    );
    assert.deepEqual([line?.["upstream"], line?.["reason"]], ["token", "RangeError"]);
    assert.equal(await lastFailure(gateway), "no credentials: RangeError");
    await finish();
  });

  it("and are refused on the only route: 502, and nothing is charged", async () => {
    await start({});
    tokens.does = "refuse";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("alone"));
    assert.equal(answer.status, 502);
    assert.equal(answer.json.error.type, "api_error");
    await assertNotCharged(gateway, customer);
    await finish();
  });

  it("and do not come: after connect_seconds the next route serves", async () => {
    await start({ config: { limits: { connect_seconds: 1 } } });
    tokens.does = "wait";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("backed"));
    assert.equal(answer.status, 200, answer.text);
    tokens.release();
    assert.equal(await lastFailure(gateway), "no credentials: timed out");
    await finish();
  });

  for (const leaving of ["cancel", "drain"] as const) {
    it(`and whose client leaves first: nothing goes upstream (${leaving})`, async () => {
      await start({ plugins: { settle: { when_client_leaves: leaving } } });
      tokens.does = "wait";
      const customer = await customerWith(gateway);
      const before = second.requests.length;
      const call = await openStream(gateway, paths.messages, customer, messages("backed"));
      await until("a token is waited for", () => tokens.asked === 1);
      call.leave();
      // With `drain` the call is open until its token is there.
      if (leaving === "cancel") await noCallsInFlight(gateway);
      else await until("the gateway knows", () => gateway.calls.some(({ gone }) => gone));
      tokens.release();
      await noCallsInFlight(gateway);
      await assertNotCharged(gateway, customer);
      assert.equal(second.requests.length, before);
      await finish();
    });
  }

  it("and whose call is cut first: 504, and nothing goes upstream", async () => {
    await start({ config: { limits: { call_seconds: 1 } } });
    tokens.does = "wait";
    const customer = await customerWith(gateway);
    const answer = await post(gateway, paths.messages, customer, messages("backed"));
    assert.equal(answer.status, 504, answer.text);
    tokens.release();
    await assertNotCharged(gateway, customer);
    await finish();
  });
});

/** Why the upstream that needs a token failed last, as operators see it. */
async function lastFailure(gateway: GatewayOfKinds): Promise<unknown> {
  const { body } = await admin(gateway, "GET", "/upstreams");
  const upstreams = arrayOf(body["upstreams"]).filter(isObject);
  return objectOf(upstreams.find(({ name }) => name === "token")?.["last_failure"])?.["reason"];
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
