import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { runCli } from "../admin/cli-runs.ts";
import { bootTopups, type InProcess } from "./in-process.ts";
import { as, BANK, notify, order, transfer } from "./topups.ts";

const HEAD = "Ngày giao dịch;Số bút toán;Ghi nợ;Ghi có;Nội dung";
/** Of a transfer in the webhook's form and in a statement. */
const DAY = "2026-11-21";
const AT = `${DAY} 14:02:37`;

let amounts = 1_000_000;
/** An amount that no other test has, so that tests can share a gateway. */
const newAmount = () => ++amounts;

t.test("a statement", async (t) => {
  let gateway: InProcess;
  t.before(async () => {
    gateway = await bootTopups();
  });
  t.teardown(async () => {
    const { body } = await admin(gateway, "GET", "/reconcile").finally(() => gateway.close());
    assert.equal(body["drift"], false);
  });

  /** A customer with an order, whose code is the content of transfers. */
  async function ordering() {
    const { accountId } = await createCustomer(gateway);
    const amount = newAmount();
    const { code } = await order(gateway, accountId, amount);
    const balance = async () => (await wallet(gateway, accountId)).balance;
    return { accountId, amount, code, balance };
  }

  async function send(rows: readonly string[], dry_run = false) {
    const file = [HEAD, ...rows].join("\n");
    const { status, body } = await admin(gateway, "POST", "/transfers/import", { file, dry_run });
    assert.equal(status, 200, JSON.stringify(body));
    const transfers = Array.isArray(body["transfers"]) ? body["transfers"].filter(isObject) : [];
    return transfers;
  }
  const outcomes = async (...rows: readonly string[]) =>
    (await send(rows)).map(({ outcome, state }) => `${outcome} ${state}`);
  const row = (reference: string, amount: number, content: string, day = DAY) =>
    `${day};${reference};;${amount};${content}`;
  const told = (changes: JsonObject) =>
    notify(gateway, transfer({ transactionDate: AT, ...changes }));

  t.test(
    "credits what SePay did not notify, once, even if it comes again or is notified later",
    async (t) => {
      const { accountId, amount, code, balance } = await ordering();
      const csv = row("FT26325001", amount, `${code} thanks`);
      const [foreseen] = await send([csv], true);
      t.match(foreseen, { outcome: "new", state: "matched", account: accountId, transfer: null });
      t.equal(await balance(), "0");
      for (const outcome of ["new credited", "known credited"]) {
        t.strictSame(await outcomes(csv), [outcome]);
        t.equal(await balance(), String(amount));
      }
      // SePay's notification comes later, and again.
      const late = {
        transferAmount: amount,
        content: code,
        referenceCode: "FT26325001",
        id: 880_000_001,
      };
      for (let n = 0; n < 2; n++) t.equal((await told(late)).status, 200);
      t.equal(await balance(), String(amount));
      t.strictSame(await outcomes(csv), ["known credited"]);
      t.equal((await admin(gateway, "GET", "/transfers/880000001")).status, 404);
      // Another notification is another transfer: SePay gives each one id.
      await told({ ...late, id: 880_000_002 });
      t.equal(await balance(), String(2 * amount));
    },
  );

  t.test("knows what SePay notified, by its reference or by its text", async (t) => {
    const { amount, code, balance } = await ordering();
    await told({ transferAmount: amount, content: code, referenceCode: "MBVCB.3278907688" });
    t.equal(await balance(), String(amount));
    for (const [reference, content, day] of [
      ["MBVCB.3278907688", "", "2026-11-23"],
      ["5213 - 12345", `MBVCB.3278907688.${code}.CT tu 0123`, DAY],
      ["5213 - 12345", `${code} CT tu 0123`, "2026-11-22"],
      ["", code, DAY],
    ] as const) {
      t.strictSame(
        await outcomes(row(reference, amount, content, day)),
        ["known credited"],
        content,
      );
    }
    t.equal(await balance(), String(amount));
  });

  t.test("knows two transfers by their codes, even if a bank repeats a reference", async (t) => {
    const [first, second] = [await ordering(), await ordering()];
    const reference = { transferAmount: first.amount, referenceCode: "MBVCB.3278907689" };
    await told({ ...reference, content: first.code });
    const rows = [second, first].map(({ code }) => row("MBVCB.3278907689", first.amount, code));
    t.strictSame(await outcomes(...rows.slice(0, 1)), ["new credited"]);
    t.strictSame(await outcomes(...rows), ["known credited", "known credited"]);
    t.equal(await second.balance(), String(first.amount));
  });

  t.test(
    "asks about a row that is booked days later, and may be one that was notified",
    async (t) => {
      for (const [reference, booked, content] of [
        ["MBVCB.3278907688", "5213 - 12345", "CT tu 0123"],
        ["88412", "88412", ""],
      ] as const) {
        const { amount, code, balance } = await ordering();
        await told({ transferAmount: amount, content: code, referenceCode: reference });
        const rows = [row(booked, amount, `${code} ${content}`, "2026-11-24")];
        t.strictSame(await outcomes(...rows), ["unclear unmatched"], reference);
        t.equal(await balance(), String(amount));
      }
      // Two references of one form are two transfers.
      const { amount, code, balance } = await ordering();
      await told({ transferAmount: amount, content: code, referenceCode: "FT26325081" });
      t.strictSame(await outcomes(row("FT26328082", amount, code, "2026-11-24")), ["new credited"]);
      t.equal(await balance(), String(2 * amount));
    },
  );

  t.test("knows a transfer by its reference, though a holiday parts its two days", async (t) => {
    for (const [first, then] of [
      ["2026-11-12", "2026-11-16"],
      ["2026-11-12", "2026-11-21"],
      ["2026-11-21", "2026-11-12"],
    ] as const) {
      for (const source of ["notified", "imported"]) {
        const { amount, code, balance } = await ordering();
        const named = { transferAmount: amount, content: code, referenceCode: "FT26316123456" };
        const notified = () => told({ ...named, transactionDate: `${first} 22:15:00` });
        const imported = () => outcomes(row("FT26316123456", amount, code, then));
        if (source === "notified") await notified();
        t.strictSame(await imported(), [`${source === "notified" ? "known" : "new"} credited`]);
        if (source === "imported") await notified();
        t.equal(await balance(), String(amount), `${source} first, ${first}, ${then}`);
        // The next payment by this code has a reference of its own.
        t.strictSame(await outcomes(row("FT26320123456", amount, code, "2026-11-14")), [
          "new credited",
        ]);
        t.equal(await balance(), String(2 * amount));
      }
    }
  });

  t.test("asks about one after a holiday whose reference the bank writes otherwise", async (t) => {
    const { amount, code, balance } = await ordering();
    const named = { transferAmount: amount, content: code, referenceCode: "MBVCB.3278907699" };
    await told({ ...named, transactionDate: "2026-11-12 22:15:00" });
    const booked = row("5213 - 12345", amount, code, "2026-11-16");
    t.strictSame(await outcomes(booked), ["unclear unmatched"]);
    t.equal(await balance(), String(amount));
    // A payment of each few days is no question if the statement has the one before, in any order.
    const regular = await ordering();
    const notified = { transferAmount: regular.amount, content: regular.code };
    await told({ ...notified, referenceCode: "MBVCB.3278907700" });
    t.strictSame(
      await outcomes(
        row("5213 - 77778", regular.amount, regular.code, "2026-11-23"),
        row("5213 - 77777", regular.amount, regular.code),
      ),
      ["new credited", "known credited"],
    );
    t.equal(await regular.balance(), String(2 * regular.amount));
  });

  t.test("asks about a notification that comes days after its row was booked", async (t) => {
    const { amount, code, balance } = await ordering();
    t.strictSame(await outcomes(row("5213 - 777", amount, code, "2026-11-24")), ["new credited"]);
    const late = { transferAmount: amount, content: code, referenceCode: "MBVCB.3278907777" };
    t.equal((await told(late)).status, 200);
    t.equal(await balance(), String(amount));
  });

  t.test("shows which credited transfers of its days it does not have", async (t) => {
    const day = "2026-11-19";
    const { accountId, amount, code } = await ordering();
    await told({
      transferAmount: amount,
      content: code,
      transactionDate: `${day} 09:00:00`,
      id: 880_000_090,
    });
    const file = [HEAD, row("FT26323090", newAmount(), "another", day)].join("\n");
    const path = "/transfers/import";
    const { body } = await admin(gateway, "POST", path, { file, dry_run: true });
    t.match(body["missing"], [
      { transfer: "880000090", state: "credited", account: accountId, day },
    ]);
    const recorded = await admin(gateway, "POST", path, { file });
    t.strictSame(recorded.body["missing"], body["missing"], "once they are recorded too");
    const both = [file, row("FT26323091", amount, code, day)].join("\n");
    const whole = await admin(gateway, "POST", path, { file: both, dry_run: true });
    t.match(whole.body["transfers"], [{ outcome: "known" }, { outcome: /known|unclear/ }]);
  });

  t.test(
    "asks about a payment a week later whose reference the bank or the order repeats",
    async (t) => {
      for (const [first, again, content] of [
        // The order's code, which the customer uses again.
        [undefined, undefined, ""],
        [undefined, undefined, "CT tu 0123 toi 4567"],
        // Of the day, by a teller: it may be the same one.
        ["5213 - 12345", "5213 - 12345", ""],
        ["5213 - 12345", "", "5213 12345"],
      ] as const) {
        const { amount, code, balance } = await ordering();
        await told({
          ...{ transferAmount: amount, content: code, referenceCode: first ?? code },
          transactionDate: "2026-11-14 09:00:00",
        });
        t.equal(await balance(), String(amount));
        const csv = row(again ?? code, amount, `${content} ${again === undefined ? "" : code}`);
        t.strictSame(await outcomes(csv), ["unclear unmatched"], csv);
        t.strictSame(await outcomes(csv), ["known unmatched"], csv);
        // That of the same day is the one that SePay notified.
        const same = row(again ?? code, amount, code, "2026-11-14");
        t.strictSame(await outcomes(same), ["known credited"], same);
        t.equal(await balance(), String(amount));
      }
      // SePay's notification of the second one, if a statement has the first.
      const { amount, code } = await ordering();
      const before = row(code, amount, code, "2026-11-14");
      t.strictSame(await outcomes(before), ["new credited"]);
      const id = 880_000_071;
      await told({ id, transferAmount: amount, content: code, referenceCode: code });
      const { body } = await admin(gateway, "GET", `/transfers/${id}`);
      t.match(body, { state: "unmatched", cause: "alike" });
    },
  );

  t.test("names no account of a customer who has left", async (t) => {
    const { accountId, amount, code } = await ordering();
    await gateway.gateway.services.accounts.setStatus(accountId, "closed");
    const csv = row("FT26325095", amount, code);
    const [foreseen] = await send([csv], true);
    t.match(foreseen, { outcome: "new", state: "unmatched", account: null });
    t.match(await send([csv]), [{ outcome: "new", state: "unmatched" }]);
  });

  t.test("credits the second of two equal payments, of which SePay notified one", async (t) => {
    const { amount, code, balance } = await ordering();
    await told({ transferAmount: amount, content: code, referenceCode: "FT26325011" });
    const both = [row("FT26325012", amount, code), row("FT26325011", amount, code)];
    t.strictSame(await outcomes(...both), ["new credited", "known credited"]);
    t.strictSame(await outcomes(...both), ["known credited", "known credited"]);
    t.equal(await balance(), String(2 * amount));
  });

  t.test("credits both of two equal payments that SePay did not notify", async (t) => {
    const { amount, code, balance } = await ordering();
    const both = [row("FT26325021", amount, code), row("FT26325022", amount, code)];
    t.strictSame(await outcomes(...both), ["new credited", "new credited"]);
    t.equal(await balance(), String(2 * amount));
  });

  t.test("leaves to an operator what may be another one, and names it", async (t) => {
    const { accountId, amount, code, balance } = await ordering();
    await told({
      transferAmount: amount,
      content: code,
      referenceCode: "FT26325031",
      id: 880_000_031,
    });
    // Without the row of the first, nothing tells if SePay and the bank write references differently.
    const csv = row("FT26325032", amount, code);
    for (const dryRun of [true, false]) {
      const [one] = await send([csv], dryRun);
      t.match(one, { outcome: "unclear", state: "unmatched", alike: "880000031" });
    }
    t.equal(await balance(), String(amount));
    const [again] = await send([csv]);
    t.match(again, { outcome: "known", state: "unmatched" });
    const id = String(again?.["transfer"]);
    t.equal((await admin(gateway, "GET", `/transfers/${id}`)).body["cause"], "alike");
    const reason = { account: accountId, reason: "paid twice" };
    t.equal((await admin(gateway, "POST", `/transfers/${id}/assign`, reason)).status, 200);
    t.equal(await balance(), String(2 * amount));
  });

  t.test("leaves to an operator what it has twice, without any difference", async (t) => {
    const { amount, code, balance } = await ordering();
    const csv = row("", amount, code);
    t.strictSame(await outcomes(csv, csv), ["new credited", "unclear unmatched"]);
    t.strictSame(await outcomes(csv, csv), ["known credited", "known unmatched"]);
    t.equal(await balance(), String(amount));
  });

  t.test("and a later notification wait for an operator if only the text is equal", async (t) => {
    const { amount, code, balance } = await ordering();
    t.strictSame(await outcomes(row("5213 - 777", amount, code)), ["new credited"]);
    await told({
      transferAmount: amount,
      content: code,
      referenceCode: "MBVCB.1",
      id: 880_000_041,
    });
    t.equal((await admin(gateway, "GET", "/transfers/880000041")).body["cause"], "alike");
    // A payment after the import cannot be in the statement.
    const tomorrow = new Date(Date.now() + 86_400_000 + 7 * 3_600_000).toISOString();
    await told({
      ...{ transferAmount: amount, content: code, referenceCode: "MBVCB.2" },
      transactionDate: tomorrow.slice(0, 19).replace("T", " "),
    });
    t.equal(await balance(), String(2 * amount));
  });

  t.test("of many reports of one transfer at once, one credits", async (t) => {
    const { amount, code, balance } = await ordering();
    const csv = row("FT26325051", amount, code);
    const notification = { transferAmount: amount, content: code, referenceCode: "FT26325051" };
    await Promise.all(
      [1, 2, 3, 4].flatMap(() => [send([csv]), told({ ...notification, id: 880_000_051 })]),
    );
    t.equal(await balance(), String(amount));
    const { body } = await admin(gateway, "GET", "/transfers?limit=1000");
    const all = Array.isArray(body["list"]) ? body["list"].filter(isObject) : [];
    t.equal(all.filter((one) => one["bank_reference"] === "FT26325051").length, 1);
  });

  t.test("is imported from the command line", async (t) => {
    const { amount, code, balance } = await ordering();
    const file = join(t.testdir({}), "statement.csv");
    writeFileSync(file, `\ufeff${HEAD}\r\n${row("FT26325061", amount, code)}\r\n`);
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const run = (...more: string[]) =>
      runCli(["transfer", "import", "--file", file, ...more, "--json"], { env });
    t.match(JSON.parse((await run("--dry-run")).stdout), { dry_run: true, new: 1, known: 0 });
    t.equal(await balance(), "0");
    t.match(JSON.parse((await run()).stdout), { dry_run: false, new: 1, unclear: 0 });
    t.equal(await balance(), String(amount));
    writeFileSync(file, `${HEAD}\n${row("FT26325062", amount, code, "2026-13-01")}`);
    const refused = await run();
    t.equal(refused.code, 1);
    t.match(refused.stderr, /Line 2: 2026-13-01 is no day of the past/);
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x41, 0x00]));
    t.match((await run()).stderr, /is not in UTF-8/);
  });
});

t.test(
  "a notification of the account behind a virtual one finds its row of SePay's list",
  async (t) => {
    const gateway = await bootTopups();
    t.teardown(() => gateway.close());
    const { accountId } = await createCustomer(gateway);
    const { code } = await order(gateway, accountId);
    const file = [`ID;${HEAD}`, `92704123;${DAY};FT26325091;;100000;${code}`].join("\n");
    const { body } = await admin(gateway, "POST", "/transfers/import", { file });
    t.match(body["transfers"], [{ outcome: "new", transfer: "92704123", state: "credited" }]);
    const account = { accountNumber: "6868123456", subAccount: BANK.account_number };
    const told = transfer({ ...account, content: code, id: 92_704_123, transactionDate: AT });
    t.equal((await notify(gateway, told)).status, 200);
    const { body: all } = await admin(gateway, "GET", "/transfers");
    t.match(all["list"], [{ id: "92704123", state: "credited" }]);
    t.equal((await wallet(gateway, accountId)).balance, "100000");
    // Another amount under this id is another transfer.
    await notify(gateway, { ...told, transferAmount: 90_000 });
    const { body: unmatched } = await admin(gateway, "GET", "/transfers?state=unmatched");
    t.match(unmatched["list"], [{ cause: "known_id", amount_vnd: "90000" }]);
  },
);

t.test("a statement of the account behind a virtual one", async (t) => {
  const main = "6868123456";
  const gateway = await bootTopups({ main_account_number: main });
  t.teardown(() => gateway.close());
  const { accountId } = await createCustomer(gateway);
  const { code } = await order(gateway, accountId);
  const told = { content: code, referenceCode: "FT26325071", accountNumber: main };
  await notify(gateway, transfer({ ...told, transactionDate: AT, id: 71 }));
  const file = [
    `Số tài khoản: ${main}`,
    HEAD,
    ...[`${DAY};FT26325071;;100000;${code}`, `${DAY};FT26325072;;100001;${code}`],
  ].join("\n");
  const { body } = await admin(gateway, "POST", "/transfers/import", { file });
  // SePay has reported the first one of the main account itself: it waits for an operator, who must not see it twice.
  t.match(body["transfers"], [
    { outcome: "known", transfer: "71", state: "unmatched" },
    { outcome: "new", state: "credited" },
  ]);
  t.equal((await wallet(gateway, accountId)).balance, "100001");
  const shown = await as(gateway, accountId, "GET", "/top-ups/settings");
  t.notMatch(JSON.stringify(shown.body), main);
});
