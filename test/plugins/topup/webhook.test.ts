import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { bootTopups } from "./in-process.ts";
import { API_KEY, HMAC_SECRET, notify, order, secretOf, signed, transfer } from "./topups.ts";

const OK = { status: 200, body: { success: true } };

t.test("the bank's webhook", async (t) => {
  const gateway = await bootTopups();
  t.teardown(() => gateway.close());

  t.test(
    "accepts a signed notification, and counts it once however often it is replayed",
    async (t) => {
      const { accountId } = await createCustomer(gateway);
      const { code } = await order(gateway, accountId);
      const body = JSON.stringify(transfer({ content: code }));
      const headers = signed(body, gateway.clock.now());
      for (let n = 0; n < 3; n++) t.strictSame(await notify(gateway, body, headers), OK);
      t.equal((await wallet(gateway, accountId)).balance, "100000");
    },
  );

  t.test("accepts a signature for five minutes in either direction", async (t) => {
    const body = JSON.stringify(transfer());
    for (const [offsetSeconds, status] of [
      [-290, 200],
      [290, 200],
      [-310, 401],
      [310, 401],
      [-86_400, 401],
    ] as const) {
      const headers = signed(body, gateway.clock.now() + offsetSeconds * 1000);
      t.equal((await notify(gateway, body, headers)).status, status, `${offsetSeconds} s`);
    }
  });

  t.test("refuses forged notifications, and stores nothing of them", async (t) => {
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
      // A wrong API key does not make up for a wrong signature.
      [body, { ...good, "x-sepay-signature": "sha256=00", authorization: "Apikey x" }],
    ];
    for (const [at, [sent, headers]] of forged.entries()) {
      const answer = await notify(gateway, sent, headers);
      t.equal(answer.status, 401, `forgery ${at}`);
      t.ok(!("success" in answer.body));
    }
    t.equal((await admin(gateway, "GET", `/transfers/${String(told["id"])}`)).status, 404);
    t.equal((await wallet(gateway, accountId)).balance, "0");
  });

  t.test("accepts only the configured authentication, and never none", async (t) => {
    const only: readonly (readonly [settings: object, apiKey: number, signature: number])[] = [
      [{ api_key: API_KEY }, 200, 401],
      [{ hmac_secret: HMAC_SECRET }, 401, 200],
    ];
    for (const [webhook, apiKey, signature] of only) {
      const one = await bootTopups({ webhook });
      try {
        const body = JSON.stringify(transfer());
        t.equal((await notify(one, body)).status, apiKey);
        t.equal((await notify(one, body, signed(body, one.clock.now()))).status, signature);
        t.equal((await notify(one, body, {})).status, 401);
        t.equal((await notify(one, body, signed(body, one.clock.now(), ""))).status, 401);
      } finally {
        await one.close();
      }
    }
  });

  t.test(
    "creates a random secret that only the owner can read if the config has none",
    async (t) => {
      const one = await bootTopups({ webhook: {} });
      try {
        const { data } = one.gateway.services.config.stores;
        const secret = secretOf(data);
        t.match(secret, /^[\w-]{43}$/);
        t.equal(statSync(join(data, "sepay-webhook-key")).mode & 0o777, 0o600);
        const body = JSON.stringify(transfer());
        t.equal((await notify(one, body)).status, 401, "another gateway's key");
        t.equal((await notify(one, body, {})).status, 401);
        t.strictSame(await notify(one, body, { authorization: `Apikey ${secret}` }), OK);
        t.strictSame(await notify(one, body, signed(body, one.clock.now(), secret)), OK);
      } finally {
        await one.close();
      }
    },
  );

  t.test("replies with an error if the transfer could not be recorded", async (t) => {
    const { database } = gateway.gateway.services;
    await database.query("alter table bank_transfers rename to bank_transfers_away");
    const told = transfer();
    const failed = await notify(gateway, told);
    await database.query("alter table bank_transfers_away rename to bank_transfers");
    t.equal(failed.status, 503);
    t.ok(!("success" in failed.body));
    t.strictSame(await notify(gateway, told), OK);
  });
});
