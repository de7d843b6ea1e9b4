import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { bootTopups, type InProcess } from "./in-process.ts";
import { API_KEY, HMAC_SECRET, notify, order, secretOf, signed, transfer } from "./topups.ts";

const OK = { status: 200, body: { success: true } };

describe("the bank's webhook", () => {
  let gateway: InProcess;
  before(async () => {
    gateway = await bootTopups();
  });
  after(() => gateway.close());

  it("takes what is signed, and counts it once however often it is replayed", async () => {
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    const body = JSON.stringify(transfer({ content: code }));
    const headers = signed(body, gateway.clock.now());
    for (let n = 0; n < 3; n++) assert.deepEqual(await notify(gateway, body, headers), OK);
    assert.equal((await wallet(gateway, accountId)).balance, "100000");
  });

  it("takes a signature for five minutes to either side, and no longer", async () => {
    const body = JSON.stringify(transfer());
    for (const [offsetSeconds, status] of [
      [-290, 200],
      [290, 200],
      [-310, 401],
      [310, 401],
      [-86_400, 401],
    ] as const) {
      const headers = signed(body, gateway.clock.now() + offsetSeconds * 1000);
      assert.equal((await notify(gateway, body, headers)).status, status, `${offsetSeconds} s`);
    }
  });

  it("refuses whatever is forged, and keeps nothing of it", async () => {
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    const told = transfer({ content: code });
    const body = JSON.stringify(told);
    const good = signed(body, gateway.clock.now());
    const other = JSON.stringify({ ...told, transferAmount: 9_000_000 });
    const forged: readonly (readonly [body: string, headers: Record<string, string>])[] = [
      [body, {}],
      [body, { authorization: "Apikey " }],
      [body, { authorization: `Apikey ${API_KEY}x` }],
      [body, { authorization: `Apikey ${API_KEY.slice(0, -1)}` }],
      [body, { authorization: `Bearer ${API_KEY}` }],
      [body, { authorization: API_KEY }],
      [body, { authorization: `Apikey ${HMAC_SECRET}` }],
      [body, { "x-api-key": API_KEY }],
      [body, { authorization: "Apikey undefined" }],
      [other, good],
      [`${body} `, good],
      [body, { ...good, "x-sepay-timestamp": String(Number(good["x-sepay-timestamp"]) + 1) }],
      [body, { ...good, "x-sepay-timestamp": "" }],
      [body, { ...good, "x-sepay-timestamp": "NaN" }],
      [body, { ...good, "x-sepay-signature": "" }],
      [body, { ...good, "x-sepay-signature": "sha256=" }],
      [body, { ...good, "x-sepay-signature": `sha256=${"0".repeat(64)}` }],
      [body, signed(body, gateway.clock.now(), "another-secret-of-some-length")],
      [body, signed(body, gateway.clock.now(), API_KEY)],
      [body, signed(body, gateway.clock.now(), "")],
      // A wrong signature is not made good by an API key that is wrong too.
      [body, { ...good, "x-sepay-signature": "sha256=00", authorization: "Apikey x" }],
    ];
    for (const [at, [sent, headers]] of forged.entries()) {
      const answer = await notify(gateway, sent, headers);
      assert.equal(answer.status, 401, `forgery ${at}`);
      assert.ok(!("success" in answer.body));
    }
    assert.equal((await admin(gateway, "GET", `/transfers/${String(told["id"])}`)).status, 404);
    assert.equal((await wallet(gateway, accountId)).balance, "0");
  });

  it("is open by the ways of the config only, and never without a secret", async () => {
    const only: readonly (readonly [settings: object, apiKey: number, signature: number])[] = [
      [{ api_key: API_KEY }, 200, 401],
      [{ hmac_secret: HMAC_SECRET }, 401, 200],
    ];
    for (const [webhook, apiKey, signature] of only) {
      const one = await bootTopups({ webhook });
      try {
        const body = JSON.stringify(transfer());
        assert.equal((await notify(one, body)).status, apiKey);
        assert.equal((await notify(one, body, signed(body, one.clock.now()))).status, signature);
        assert.equal((await notify(one, body, {})).status, 401);
        assert.equal((await notify(one, body, signed(body, one.clock.now(), ""))).status, 401);
      } finally {
        await one.close();
      }
    }
  });

  it("makes a random secret that only the owner can read where the config has none", async () => {
    const one = await bootTopups({ webhook: {} });
    try {
      const { data } = one.gateway.services.config.stores;
      const secret = secretOf(data);
      assert.match(secret, /^[\w-]{43}$/);
      assert.equal(statSync(join(data, "sepay-webhook-key")).mode & 0o777, 0o600);
      const body = JSON.stringify(transfer());
      assert.equal((await notify(one, body)).status, 401, "another gateway's key");
      assert.equal((await notify(one, body, {})).status, 401);
      assert.deepEqual(await notify(one, body, { authorization: `Apikey ${secret}` }), OK);
      assert.deepEqual(await notify(one, body, signed(body, one.clock.now(), secret)), OK);
    } finally {
      await one.close();
    }
  });

  it("says that it failed where the transfer could not be recorded", async () => {
    const { database } = gateway.gateway.services;
    await database.query("alter table bank_transfers rename to bank_transfers_away");
    const told = transfer();
    const failed = await notify(gateway, told);
    await database.query("alter table bank_transfers_away rename to bank_transfers");
    assert.equal(failed.status, 503);
    assert.ok(!("success" in failed.body));
    assert.deepEqual(await notify(gateway, told), OK);
  });
});
