import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { arrayOf, isObject } from "../../../core/process/json.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { type LocalServer, startLocalServer } from "../../support/local-server.ts";
import { MESSAGES_REPLY } from "../../support/messages-reply.ts";
import { type Production, startProduction } from "../../support/production.ts";
import { paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";

const JSON_TYPE = { "content-type": "application/json" };
/** The refusal of each key; the others are served. */
const REFUSALS: Readonly<Record<string, readonly [number, object, string]>> = {
  "a-key-that-is-limited": [
    429,
    { ...JSON_TYPE, "retry-after": "600" },
    '{"type":"error","error":{"type":"rate_limit_error","message":"Too many."}}',
  ],
  "a-key-that-is-revoked": [
    401,
    JSON_TYPE,
    '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
  ],
  "a-key-behind-a-proxy-page": [401, { "content-type": "text/html" }, "<h1>Proxy</h1>"],
  "a-key-from-a-wrong-place": [
    400,
    JSON_TYPE,
    '{"error":{"message":"User location is not supported for the API use."}}',
  ],
};
const KEYS = Object.keys(REFUSALS);

t.test("gateways of one Redis learn from each other which keys rest", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    request.resume();
    const key = String(request.headers["x-api-key"]);
    asked.push(key);
    const [status, headers, body] = REFUSALS[key] ?? [
      200,
      JSON_TYPE,
      JSON.stringify(MESSAGES_REPLY),
    ];
    request.once("end", () => response.writeHead(status, { ...headers }).end(body));
  };
  let provider: LocalServer;
  let production: Production;
  t.before(async () => {
    provider = await startLocalServer(answer);
    const messages = provider.url;
    const upstreams = Object.fromEntries(
      KEYS.map((key) => [key, { protocols: { messages }, keys: [key, `${key}-works`] }]),
    );
    const models = KEYS.map((key) => ({
      id: key,
      price_vnd_per_mtok: 10_000,
      context_window: 100_000,
      max_output_tokens: 1_000,
      labels: ["streaming"],
      standard: "messages",
      routes: [{ upstream: key, model: "m" }],
    }));
    const catalogue = join(folder, "catalogue.yaml");
    writeFileSync(catalogue, JSON.stringify({ models }));
    production = await startProduction({
      config: { catalogue, upstreams },
      plugins: { alias: { default_family: "any", families: { any: KEYS[0] ?? "" } } },
    });
  });
  t.teardown(async () => {
    await production.close();
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The keys that rest at a gateway, by the name of their upstream. */
  async function resting(gateway: TestGateway): Promise<string[]> {
    const { body } = await admin(gateway, "GET", "/upstreams");
    return arrayOf(body["upstreams"])
      .filter(isObject)
      .filter(({ keys }) =>
        arrayOf(keys).some((key) => isObject(key) && arrayOf(key["rests"]).length > 0),
      )
      .map(({ name }) => String(name));
  }

  t.test("within seconds, and not what one gateway alone may find", async (t) => {
    const [first, second] = production.gateways;
    assert.ok(first && second);
    const customer = await createCustomer(first, { creditVnd: 1_000_000 });
    const call = async (gateway: TestGateway, model: string, text: string) => {
      const messages = [{ role: "user", content: text }];
      const answer = await post(gateway, paths.messages, customer, {
        model,
        max_tokens: 50,
        messages,
      });
      assert.equal(answer.status, 200, answer.text);
    };
    // Conversations spread over both keys, so some of the first ones meet the refused one.
    for (const key of KEYS) for (let at = 0; at < 12; at++) await call(first, key, `hello ${at}`);
    t.strictSame(await resting(first), KEYS);

    const [limited = "", revoked = ""] = KEYS;
    await until("the second gateway has learned it", async () => {
      const known = await resting(second);
      return known.includes(limited) && known.includes(revoked);
    });
    t.strictSame(await resting(second), [limited, revoked]);
    const before = asked.length;
    for (const key of [limited, revoked]) {
      for (let at = 0; at < 12; at++) await call(second, key, `hello ${at}`);
    }
    t.notOk(asked.slice(before).some((key) => key === limited || key === revoked));
  });
});
