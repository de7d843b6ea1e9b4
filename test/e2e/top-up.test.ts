import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { BANK, notify, secretOf, transfer } from "../plugins/topup/topups.ts";
import { type AccountsGateway, startAccountsGateway } from "../support/accounts.ts";
import { BrowserSession, signedUp } from "../support/browser-session.ts";
import type { TestGateway } from "../support/gateway.ts";
import { bodies, paths, post } from "../support/requests.ts";

describe("a customer who signs up, tops up and calls", () => {
  let all: AccountsGateway;
  let gateway: TestGateway;
  before(async () => {
    // The shipped top-up settings, of the demo bank and with the secret of the data folder.
    all = await startAccountsGateway();
    ({ gateway } = all);
  });
  after(() => all.close());

  const tell = (content: unknown, amount: number) =>
    notify(gateway, transfer({ content, transferAmount: amount, accountNumber: "0000000000" }), {
      authorization: `Apikey ${secretOf(gateway.data)}`,
    });

  it("gets 402 before, and is served by the same key as soon as the bank has told", async () => {
    const session = await signedUp(gateway, all.mailServer);
    const { body: key } = await session.post("/keys", { name: "laptop" });
    const caller = { key: String(key.key) };
    const call = () => post(gateway, paths.chat, caller, bodies.chat());
    assert.equal((await call()).status, 402);
    const made = await session.post("/top-ups", { amount_vnd: 50_000 });
    assert.equal(made.status, 201);
    assert.equal((await tell(made.body.code, 50_000)).status, 200);
    assert.equal((await call()).status, 200);
    const { body: paid } = await session.get(`/top-ups/${made.body.id}`);
    assert.deepEqual([paid.status, paid.received_vnd], ["paid", "50000"]);
    const { body: history } = await session.get("/top-ups");
    assert.deepEqual(
      history.data.map((one: { code: string }) => one.code),
      [made.body.code],
    );
    const { body: promotions } = await session.get("/promotions");
    assert.equal(promotions.lifetime.total_vnd, "50000");
  });

  it("pays nobody else's order, sees none, and makes none from another page", async () => {
    const mine = await signedUp(gateway, all.mailServer);
    const theirs = await signedUp(gateway, all.mailServer);
    const made = await mine.post("/top-ups", { amount_vnd: 50_000 });
    const path = `/top-ups/${made.body.id}`;
    assert.equal((await theirs.get(path)).status, 404);
    assert.equal((await theirs.post(`${path}/cancel`)).status, 404);
    assert.deepEqual((await theirs.get("/top-ups")).body.data, []);

    const stranger = new BrowserSession(gateway);
    for (const one of ["/top-ups", path, "/top-ups/settings", "/promotions"]) {
      assert.equal((await stranger.get(one)).status, 401, one);
    }
    const { csrfToken } = mine;
    mine.csrfToken = undefined;
    assert.equal((await mine.post("/top-ups", { amount_vnd: 50_000 })).status, 403);
    mine.csrfToken = csrfToken;
    const elsewhere = { origin: "https://elsewhere.example" };
    const forged = await mine.send("POST", "/top-ups", { amount_vnd: 50_000 }, elsewhere);
    assert.equal(forged.status, 403);
    assert.equal((await mine.get(path)).body.status, "open");
  });

  it("cannot forge the bank's word with the keys of the tests", async () => {
    const session = await signedUp(gateway, all.mailServer);
    const made = await session.post("/top-ups", { amount_vnd: 50_000 });
    const told = transfer({ content: made.body.code, accountNumber: "0000000000" });
    assert.equal((await notify(gateway, told)).status, 401);
    assert.notEqual(made.body.bank.account_number, BANK.account_number);
    assert.equal((await session.get("/wallet")).body.balance_vnd, "0");
  });
});
