import t from "tap";
import { BANK, notify, secretOf, transfer } from "../plugins/topup/topups.ts";
import { type AccountsGateway, startAccountsGateway } from "../support/accounts.ts";
import { BrowserSession, signedUp } from "../support/browser-session.ts";
import type { TestGateway } from "../support/gateway.ts";
import { bodies, paths, post } from "../support/requests.ts";

t.test("a customer who signs up, tops up and calls", async (t) => {
  let all: AccountsGateway;
  let gateway: TestGateway;
  t.before(async () => {
    // The shipped top-up settings, with the demo bank and the secret of the data folder.
    all = await startAccountsGateway();
    ({ gateway } = all);
  });
  t.teardown(() => all.close());

  const tell = (content: unknown, amount: number) =>
    notify(gateway, transfer({ content, transferAmount: amount, accountNumber: "0000000000" }), {
      authorization: `Apikey ${secretOf(gateway.data)}`,
    });

  t.test(
    "gets 402 first, and is served with the same key once the bank has notified the transfer",
    async (t) => {
      const session = await signedUp(gateway, all.mailServer);
      const { body: key } = await session.post("/keys", { name: "laptop" });
      const caller = { key: String(key.key) };
      const call = () => post(gateway, paths.chat, caller, bodies.chat());
      t.equal((await call()).status, 402);
      const made = await session.post("/top-ups", { amount_vnd: 50_000 });
      t.equal(made.status, 201);
      t.equal((await tell(made.body.code, 50_000)).status, 200);
      t.equal((await call()).status, 200);
      const { body: paid } = await session.get(`/top-ups/${made.body.id}`);
      t.strictSame([paid.status, paid.received_vnd], ["paid", "50000"]);
      const { body: history } = await session.get("/top-ups");
      t.strictSame(
        history.data.map((one: { code: string }) => one.code),
        [made.body.code],
      );
      const { body: promotions } = await session.get("/promotions");
      t.equal(promotions.lifetime.total_vnd, "50000");
    },
  );

  t.test(
    "cannot read or cancel another customer's order, nor create one from another site",
    async (t) => {
      const mine = await signedUp(gateway, all.mailServer);
      const theirs = await signedUp(gateway, all.mailServer);
      const made = await mine.post("/top-ups", { amount_vnd: 50_000 });
      const path = `/top-ups/${made.body.id}`;
      t.equal((await theirs.get(path)).status, 404);
      t.equal((await theirs.post(`${path}/cancel`)).status, 404);
      t.strictSame((await theirs.get("/top-ups")).body.data, []);

      const stranger = new BrowserSession(gateway);
      for (const one of ["/top-ups", path, "/top-ups/settings", "/promotions"]) {
        t.equal((await stranger.get(one)).status, 401, one);
      }
      const { csrfToken } = mine;
      mine.csrfToken = undefined;
      t.equal((await mine.post("/top-ups", { amount_vnd: 50_000 })).status, 403);
      mine.csrfToken = csrfToken;
      const elsewhere = { origin: "https://elsewhere.example" };
      const forged = await mine.send("POST", "/top-ups", { amount_vnd: 50_000 }, elsewhere);
      t.equal(forged.status, 403);
      t.equal((await mine.get(path)).body.status, "open");
    },
  );

  t.test("cannot forge a notification with the keys of the tests", async (t) => {
    const session = await signedUp(gateway, all.mailServer);
    const made = await session.post("/top-ups", { amount_vnd: 50_000 });
    const forged = transfer({ content: made.body.code, accountNumber: "0000000000" });
    t.equal((await notify(gateway, forged)).status, 401);
    t.not(made.body.bank.account_number, BANK.account_number);
    t.equal((await session.get("/wallet")).body.balance_vnd, "0");
  });
});
