import t from "tap";
import { formatVnd, parseVnd } from "../../../core/catalogue/amount.ts";
import { arrayOf, type JsonObject } from "../../../core/process/json.ts";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import { MOVEMENT_KINDS } from "../../../core/usage/books.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";
import { as, notify, topupPlugins, transfer } from "../topup/topups.ts";

const DAY_MS = 86_400_000;
const [TODAY, TOMORROW] = [dayOf(new Date()), dayOf(new Date(Date.now() + DAY_MS))];
const BONUS = {
  ...{ name: "tet", title: "Thưởng Tết", first_day: TODAY, last_day: TOMORROW, percent: 10 },
  bonus_max_vnd: 80_000,
};

t.test("the movements of all customers", async (t) => {
  let gateway: TestGateway;
  const rowsOf = async (query: object): Promise<JsonObject[]> => {
    const { status, body } = await admin(
      gateway,
      "GET",
      `/movements?${new URLSearchParams({ ...query })}`,
    );
    t.equal(status, 200, JSON.stringify(body));
    return body["list"] as JsonObject[];
  };
  const post201 = async (path: string, body: object) => {
    const made = await admin(gateway, "POST", path, body);
    t.ok(made.status < 300, JSON.stringify(made.body));
    return made.body;
  };

  t.before(async () => {
    const promotions = { counted: "all", bonuses: [BONUS] };
    const plugins = { ...topupPlugins({ promotions }), vouchers: true };
    gateway = await startGateway({ plugins });
    const customer = await createCustomer(gateway, { creditVnd: "1000.5" });
    const { accountId } = customer;
    const move = (amount_vnd: string, reference: string) =>
      post201(`/accounts/${accountId}/credits`, { amount_vnd, reference, reason: "agreed" });
    await move("2000", "gift");
    await move("-300.25", "debit");
    const booked = { transferAmount: 600_000, transactionDate: `${TODAY} 00:00:01` };
    const [paid, wrong] = [transfer(booked), transfer({ ...booked, transferAmount: 5_000 })];
    for (const told of [paid, wrong]) {
      await notify(gateway, told);
      await post201(`/transfers/${told["id"]}/assign`, { account: accountId, reason: "by e-mail" });
    }
    await post201(`/transfers/${wrong["id"]}/reverse`, { reason: "wrong" });
    const batch = await post201("/vouchers", { amount_vnd: "50000", until: TOMORROW, note: "Tết" });
    const code = (batch["list"] as JsonObject[])[0]?.["code"];
    t.equal((await as(gateway, accountId, "POST", "/vouchers", { code })).status, 200);
    const reply = await post(gateway, paths.chat, customer, bodies.chat());
    t.equal(reply.status, 200);
    const call = reply.headers.get("x-request-id") ?? "";
    await until("the call is recorded", async () => {
      return (await admin(gateway, "GET", `/calls/${call}`)).body["state"] === "recorded";
    });
    await post201("/refunds", { call, reason: "broken" });
  });
  t.teardown(() => gateway?.close());

  t.test("of a kind and some days add up to the figure of the report", async (t) => {
    for (const days of [
      { from: TODAY, to: TODAY },
      { from: "2020-01-01", to: TOMORROW },
      { from: TOMORROW, to: TOMORROW },
    ]) {
      const { body } = await admin(gateway, "GET", `/report?${new URLSearchParams(days)}`);
      for (const kind of MOVEMENT_KINDS) {
        const rows = await rowsOf({ kind, ...days });
        const sum = rows.reduce(
          (sum, row) => sum + (parseVnd(String(row["amount_vnd"])) ?? 0n),
          0n,
        );
        const figure = Object.entries(body).find(
          ([name]) => name.replace(/(?:e?s)?_vnd$/, "") === kind,
        );
        t.equal(formatVnd(sum), figure?.[1], kind);
        t.equal(rows.length > 0, days.from !== TOMORROW, kind);
      }
    }
  });

  t.test("come page by page, newest first, each once, and by a command", async (t) => {
    const all = await rowsOf({});
    const paged: JsonObject[] = [];
    for (;;) {
      const before = paged.at(-1)?.["entry"];
      const page = await rowsOf({ limit: "2", ...(before !== undefined && { before }) });
      if (page.length === 0) break;
      paged.push(...page);
    }
    t.strictSame(paged, all);
    t.match(all[0], { kind: "refund", reason: "broken" });
    t.match(all.at(-1), { kind: "credit", amount_vnd: "1000.5", balance_vnd: "1000.5" });
    const run = await runCli(["movement", "list", "--kind", "transfer", "--json"], {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
    });
    t.equal(arrayOf(JSON.parse(run.stdout)).length, 2);
    const wrong = await admin(gateway, "GET", `/movements?from=${TOMORROW}&to=${TODAY}`);
    t.equal(wrong.status, 400);
  });
});
