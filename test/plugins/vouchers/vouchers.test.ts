import t from "tap";
import { newVoucherCode, voucherHash } from "../../../plugins/vouchers/code.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { runCli } from "../admin/cli-runs.ts";
import { bootTopups } from "../topup/in-process.ts";
import { as } from "../topup/topups.ts";

const DAY_MS = 86_400_000;
const UNTIL = "2099-12-31";

t.test("a code is found however a person types it, and has 100 random bits", async (t) => {
  const { code, prefix, hash } = newVoucherCode();
  t.match(code, /^([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/);
  t.equal(prefix, code.slice(0, 4));
  const typed = ` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")}`;
  t.equal(voucherHash(typed)?.toString("hex"), hash);
  t.equal(voucherHash(code.slice(1)), undefined);
  t.equal(voucherHash(`${code}A`), undefined);
  t.equal(voucherHash("ĐĐĐĐ-ĐĐĐĐ-ĐĐĐĐ-ĐĐĐĐ-ĐĐĐĐ"), undefined);
});

t.test("vouchers", async (t) => {
  const gateway = await bootTopups({}, 1, { vouchers: { account_attempts_per_minute: 20 } });
  t.teardown(() => gateway.close());

  /** Makes a batch, and returns its id and codes. */
  async function batch(changes: object = {}): Promise<{ id: string; codes: string[] }> {
    const { status, body } = await admin(gateway, "POST", "/vouchers", {
      ...{ amount_vnd: "50000", until: UNTIL, note: "Tết" },
      ...changes,
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    const list = body["list"] as { code: string }[];
    return { id: String(body["id"]), codes: list.map(({ code }) => code) };
  }
  const redeem = (accountId: string, code: string | undefined) =>
    as(gateway, accountId, "POST", "/vouchers", { code });
  const errorOf = ({ body }: { body: Record<string, unknown> }) =>
    body["error"] as Record<string, unknown>;
  const customer = async () => (await createCustomer(gateway)).accountId;
  const show = async (id: string) => (await admin(gateway, "GET", `/vouchers/${id}`)).body;

  t.test("are credited once, as a row that their owner sees with its balance", async (t) => {
    const { id, codes } = await batch({ count: 2 });
    const accountId = await customer();
    t.strictSame(await redeem(accountId, codes[0]?.toLowerCase()), {
      status: 200,
      body: { amount_vnd: "50000", balance_vnd: "50000", applied: true },
    });
    t.strictSame((await redeem(accountId, codes[0])).body, {
      ...{ amount_vnd: "50000", balance_vnd: "50000", applied: false },
    });
    // As pages and mails write it: with other hyphens, and characters that no one sees.
    const printed = `\u200b${codes[1]?.replaceAll("-", "\u2011")}\ufeff`;
    t.equal((await redeem(accountId, printed)).body["balance_vnd"], "100000");
    const { body } = await as(gateway, accountId, "GET", "/promotions");
    t.match(body, { daily: { today_vnd: "0", active: false } }, "a gift earns no discount");
    const ledger = await admin(gateway, "GET", `/accounts/${accountId}/ledger`);
    t.match(ledger.body["rows"], [
      { kind: "voucher", amount_vnd: "50000", balance_vnd: "50000", reason: /^.{4}…$/ },
      { kind: "voucher", amount_vnd: "50000", balance_vnd: "100000" },
    ]);
    const shown = await show(id);
    t.match(shown, { state: "open", codes: 2, redeemed: 2, credited_vnd: "100000" });
    t.match(shown["redemptions"], [{ account: accountId, email: /@/, credited_at: /^20/ }, {}]);
    const report = await admin(gateway, "GET", "/report");
    t.match(report.body, { vouchers_vnd: "100000", owed_vnd: "100000", owed_gifts_vnd: "100000" });
  });

  t.test("can be redeemed with a key", async (t) => {
    const { codes } = await batch();
    const { key, accountId } = await createCustomer(gateway);
    const response = await fetch(`${gateway.url}/v1/vouchers`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ code: codes[0] }),
    });
    t.equal(response.status, 200);
    t.equal((await wallet(gateway, accountId)).available, "50000");
  });

  t.test("of which each customer gets one", async (t) => {
    const { codes } = await batch({ count: 2, uses: 2, once_per_customer: true });
    const [one, other] = [await customer(), await customer()];
    t.equal((await redeem(one, codes[0])).status, 200);
    t.match(errorOf(await redeem(one, codes[1])), { code: "voucher_once" });
    t.equal((await redeem(one, codes[0])).body["applied"], false, "the same one is no other");
    t.equal((await redeem(other, codes[0])).status, 200);
    t.equal((await redeem(await customer(), codes[0])).status, 404, "two have used it");
  });

  t.test("that the wallet cannot take stay valid", async (t) => {
    const { codes } = await batch();
    const accountId = await customer();
    const most = { amount_vnd: "9007199254.740991", reference: `most-${accountId}` };
    await admin(gateway, "POST", `/accounts/${accountId}/credits`, most);
    t.match(errorOf(await redeem(accountId, codes[0])), { code: "voucher_not_credited" });
    t.equal((await redeem(await customer(), codes[0])).status, 200);
  });

  t.test("are limited in attempts, for each account", async (t) => {
    const accountId = await customer();
    for (let n = 0; n < 20; n++) t.equal((await redeem(accountId, `guess ${n}`)).status, 404);
    const { status, body } = await redeem(accountId, "guess");
    t.equal(status, 429);
    t.match(body["error"], { code: "too_many_attempts" });
    t.equal((await redeem(await customer(), "guess")).status, 404);
  });

  t.test("are made, listed and cancelled by commands, after a question", async (t) => {
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const run = (...args: string[]) => runCli(["voucher", ...args], { env });
    const create = ["create", "--amount-vnd", "20000", "--until", UNTIL, "--note", "partner"];
    const made = await run(...create, "--count", "3", "--csv");
    t.equal(made.code, 0, made.stderr);
    const [head, ...rows] = made.stdout.trim().split(/\r?\n/);
    t.equal(head, "code,amount_vnd,ends_at,state");
    t.equal(rows.length, 3);
    const asked = await run(...create, "--count", "10000", "--uses", "100");
    t.not(asked.code, 0);
    t.match(asked.stderr, /Make 10000 codes of 20,000 đ, 20,000,000,000 đ in all\?/);
    const list = JSON.parse((await run("list")).stdout);
    const mine = list.find(({ note }: { note: string }) => note === "partner");
    t.match(mine, { codes: 3, redeemed: 0, last_day: UNTIL });
    t.equal(JSON.stringify(list).includes(rows[0]?.split(",")[0] ?? "?"), false, "no codes");
    t.equal((await run("cancel", "--voucher", mine.id)).code, 0);
    t.match(JSON.parse((await run("show", "--voucher", mine.id)).stdout), { state: "cancelled" });
    t.not((await run("show", "--voucher", "nothing")).code, 0);
    const actions = await admin(gateway, "GET", "/actions");
    t.match(actions.body["list"], [{ action: "POST /admin/v1/vouchers/:voucher/cancel" }]);
    t.equal(JSON.stringify(actions.body).includes(rows[0]?.split(",")[0] ?? "?"), false);
  });

  t.test("with a mistake get 400", async (t) => {
    const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
    for (const wrong of [
      { amount_vnd: "0" },
      { amount_vnd: "1.5" },
      { amount_vnd: "100000001" },
      { count: 10_001 },
      { uses: 0 },
      { until: yesterday },
      { until: "2026-13-01" },
      { until: "2099-02-30" },
      { from: "2099-12-31", until: "2099-12-30" },
      { note: "" },
    ]) {
      const right = { amount_vnd: "1000", until: UNTIL, note: "x" };
      const { status } = await admin(gateway, "POST", "/vouchers", { ...right, ...wrong });
      t.equal(status, 400, JSON.stringify(wrong));
    }
  });

  t.test("cannot be called credited, or dropped, against the ledger", async (t) => {
    const { codes } = await batch();
    const accountId = await customer();
    await redeem(accountId, codes[0]);
    const { database } = gateway.gateway.services;
    const drop = database.query("delete from vouchers_redemptions");
    await t.rejects(drop, { message: /would differ/ });
    const hash = voucherHash(codes[0] ?? "") ?? null;
    const other = await customer();
    await database.query(
      `insert into vouchers_redemptions (code, account_id, batch, amount, redeemed_at)
      select code, $2, batch, amount, now() from vouchers_redemptions where code = $1`,
      [hash, other],
    );
    const mark = database.query(
      "update vouchers_redemptions set credited_at = now() where account_id = $1",
      [other],
    );
    await t.rejects(mark, { message: /would differ/ });
  });

  // Last: the limit of attempts goes by the clock that this one moves.
  t.test("get one answer if unknown, used by others, cancelled, ended or not begun", async (t) => {
    const used = await batch();
    await redeem(await customer(), used.codes[0]);
    const cancelled = await batch();
    await admin(gateway, "POST", `/vouchers/${cancelled.id}/cancel`);
    const planned = await batch({ from: "2099-01-01" });
    const ending = await batch({ until: "2098-01-01" });
    const accountId = await customer();
    const answers = [];
    const unknown = "0000-0000-0000-0000-0000";
    for (const code of [unknown, "x", used.codes[0], cancelled.codes[0], planned.codes[0]]) {
      answers.push(await redeem(accountId, code));
    }
    gateway.clock.set(Date.parse("2098-01-02T00:00:00+07:00"));
    answers.push(await redeem(accountId, ending.codes[0]));
    t.equal((await show(ending.id))["state"], "ended");
    gateway.clock.set(Date.parse("2098-01-01T23:59:59+07:00"));
    t.equal((await redeem(accountId, ending.codes[0])).status, 200, "its last second");
    gateway.clock.offsetMs = 0;
    for (const answer of answers) t.strictSame(answer, answers[0]);
    t.equal(answers[0]?.status, 404);
    t.equal((await show(cancelled.id))["state"], "cancelled");
    t.equal((await show(planned.id))["state"], "planned");
  });
});
