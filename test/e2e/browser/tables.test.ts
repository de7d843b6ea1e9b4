import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import t from "tap";
import { arrayOf } from "../../../core/process/json.ts";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import { pages } from "../../../plugins/console/browser/page-table.ts";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { showCustomer } from "../../plugins/dashboard/show-customer.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { createOperator } from "../../support/operators.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { DESKTOP, openConsole, operatorAt, PHONE, picture, settled } from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { type Stage, startStage } from "./stage.ts";

const EMAIL = "minh.tran@example.com";
const NOW = new Date().toISOString();

/** Rows that a shop seldom has, as the admin API returns them. */
const SELDOM = {
  "/quarantine?*": [
    {
      ...{ call_id: "019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071", account_id: null, at: NOW },
      ...{ model: "gpt-5.6-sol", cost_vnd: "12", reason: "unknown_account", since: NOW },
    },
  ],
  "/holds?*": [
    { call_id: null, movement: "move-1", account_id: null, amount_vnd: "5", since: NOW },
  ],
  "/reconcile": {
    ...{ drift: true, wallets: 1, purses: 0, overdue: 0 },
    rows: [
      {
        ...{ account_id: "019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071", purse: null },
        ...{ ledger_sum_vnd: "1", balance_vnd: "2", drift_vnd: "1" },
      },
    ],
  },
  "/approvals?*": [
    {
      ...{ id: "a", state: "pending", action: "credit", account_id: "a", email: null, note: null },
      ...{ amount_vnd: "7000000", reference: null, reason: null, proposed_by: "lan@shop.test" },
      ...{ proposed_at: NOW, decided_by: null, decided_at: null, is_own: false },
    },
  ],
  "/accounts/*/statement?month=2026-10": {
    ...{ account_id: "a", month: "2026-10", number: 1, digest: "d", closed_at: NOW },
    ...{ opening_vnd: "0", closing_vnd: "5", totals: {} },
    rows: [
      {
        ...{ day: "2026-10-05", kind: "credit", model: null, note: "transfer", calls: null },
        ...{ amount_vnd: "5", balance_vnd: "5" },
      },
    ],
    invoice: {
      ...{ seller: null, buyer: null, total_vnd: "0", vat_percent: null },
      ...{ net_vnd: null, vat_vnd: null },
    },
  },
  "/accounts/*/statement": [{ month: "2026-10", opening_vnd: "0", closing_vnd: "5" }],
  "/reload": {
    ...{ applied: false, models: 1, catalogue_version: "0123abcd", needs_restart: [] },
    changes: [
      {
        ...{ model: "gpt-5.6-sol", kind: "input", change: "changed", from: "1", to: "2" },
        ...{ unit: "đ", percent: 100, takes_effect: null },
      },
    ],
  },
};

t.test("the tables of the console", async (t) => {
  let stage: Stage;
  let page: Page;
  let accountId: string;
  let callId: string;
  let transferId: string;
  let batchId: string;
  t.before(async () => {
    const operators = { mail: ["ops@shop.test"] };
    stage = await startStage({ plugins: { topup: topupSettings(), messages: { operators } } });
    const { gateway } = stage;
    const { session, orderId } = await showCustomer(stage, EMAIL);
    accountId = session.accountId;
    const { code: order } = (await session.get(`/top-ups/${orderId}`)).body;
    const content = `MB ${String(order).slice(0, -1)}0 ck`;
    const sent = transfer({
      ...{ transferAmount: 499_000, content, transactionDate: "2026-11-20 09:00:00" },
    });
    await notify(gateway, sent);
    transferId = String(sent.id);
    const { body } = await admin(gateway, "GET", `/calls?account=${accountId}&limit=1`);
    callId = (body["calls"] as { call_id: string }[])[0]?.call_id ?? "";
    const day = dayOf(new Date(Date.now() + 86_400_000));
    const wanted = { amount_vnd: "50000", until: day, note: "Tết" };
    const { body: batch } = await admin(gateway, "POST", "/vouchers", wanted);
    batchId = String(batch["id"]);
    const code = (batch["list"] as { code: string }[])[0]?.code;
    assert.equal((await session.post("/vouchers", { code })).status, 200);
    await createOperator(gateway, "finance", "lan@shop.test");
    await createOperator(gateway, "viewer", "minh@shop.test");
    await admin(gateway, "POST", "/tokens", { name: "billing-job", role: "finance" });
    await ledgerSql(gateway, "insert into backups values (now(), 4200000)");
    const caller = await createCustomer(gateway, { creditVnd: 1_000 });
    for (const directive of [{}, { status: 500 }])
      await post(gateway, paths.messages, caller, bodies.messages(directive));
    await until("the calls are counted", async () => {
      const { body: traffic } = await admin(gateway, "GET", "/traffic");
      return arrayOf(traffic["rows"]).length > 0;
    });
    ({ page } = await operatorAt(stage));
  });
  t.teardown(() => stage.close());

  const open = (path: string) => openConsole(stage, page, path);
  const part = (title: string) =>
    page
      .locator("main section")
      .filter({ has: page.getByRole("heading", { name: title, exact: true }) });
  const csvOf = async (place: Locator) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      place.getByRole("button", { name: /^CSV/ }).click(),
    ]);
    return readFileSync(await download.path(), "utf8");
  };

  t.test("have a filter, a CSV file and a command on every page", async (t) => {
    for (const [path, json] of Object.entries(SELDOM))
      await page.route(`**/admin/v1${path}`, (route) => route.fulfill({ json }));
    t.teardown(() => page.unrouteAll());
    const press = (name: string) => () => page.getByRole("button", { name, exact: true }).click();
    const bankFile = "Ngày giao dịch;Số bút toán;Ghi nợ;Ghi có;Nội dung\n2026-11-20;FT9;;1234;ai";
    const made = await admin(stage.gateway, "POST", `/accounts/${accountId}/keys`, { name: "new" });
    const walk: readonly (readonly [path: string, then?: () => Promise<void>])[] = [
      [""],
      ["/customers"],
      [`/customers/${accountId}`],
      [`/customers/${accountId}/statements/2026-10`],
      ["/calls"],
      [`/calls/${callId}`],
      ["/money"],
      ["/money/movements"],
      [`/money/${transferId}`],
      [`/money/vouchers/${batchId}`],
      [
        "/money/statement",
        () =>
          page.setInputFiles("input[type=file]", {
            ...{ name: "bank.csv", mimeType: "text/csv", buffer: Buffer.from(bankFile) },
          }),
      ],
      ["/report"],
      ["/upstreams"],
      ["/traffic"],
      ["/models"],
      ["/models/history"],
      ["/models/reload", press("Show what differs")],
      ["/messages?state=sent", press("Try the channels")],
      ["/books", press("Prove it now")],
      ["/servers"],
      ["/approvals"],
      ["/operators"],
      ["/audit"],
      [`/search?q=${made.body["id"]}`],
    ];
    for (const { path } of pages.filter(({ access }) => access === undefined))
      t.ok(
        walk.some(([walked]) => (walked.match(/^\/\w+/)?.[0] ?? "") === path),
        path,
      );
    const seen = new Set<string>();
    for (const [path, then] of walk) {
      await open(path);
      const before = await page.locator("main table").count();
      await then?.();
      if (then) await page.locator("main table").nth(before).waitFor();
      await settled(page);
      // The smallest part around a table that has a filter and a command has them for this table alone.
      const tables = await page.locator("main table").evaluateAll((all) =>
        all.map((table) => {
          const filter = "input[type=search], form[role=search] :is(input, select)";
          let place: Element | null = table;
          while (place && !(place.querySelector(filter) && place.querySelector(".cli code")))
            place = place.parentElement;
          const buttons = [...(place?.querySelectorAll("button") ?? [])];
          return {
            title: table.querySelector("caption")?.textContent ?? "",
            file: table.closest(".rows")?.querySelector("input.filter")?.getAttribute("name"),
            filter: place?.querySelector(filter)?.getAttribute("aria-label"),
            isList: place?.querySelector("form[role=search]") !== null,
            tables: place?.querySelectorAll("table").length,
            files: buttons.filter(({ textContent }) => textContent === "CSV").length,
            command: place?.querySelector(".cli code")?.textContent,
          };
        }),
      );
      for (const { title, file, filter, isList, ...one } of tables) {
        const name = `${path}: ${title}`;
        seen.add(file?.split("-")[0] ?? path.split("?")[0] ?? "");
        t.match(one, { tables: 1, files: 1, command: /^npm run admin -- / }, name);
        t.ok(isList || filter === `Filter: ${title}`, name);
      }
      const files = tables.flatMap(({ file }) => file ?? []);
      t.equal(new Set(files).size, files.length, `${path}: each has its own name in the address`);
      t.strictSame(await findings(page), [], path);
      for (const viewport of [PHONE, DESKTOP]) {
        await page.setViewportSize(viewport);
        t.strictSame(await sticksOut(page), [], path);
        await picture(page, `tables${path.replaceAll(/\W+/g, "-")}-${viewport.width}`);
      }
    }
    const expected = [
      ...["days", "keys", "ledger", "calls", "refused", "orders", "statements", "sessions"],
      ...["actions", "statement", "suggestions", "vouchers", "redemptions", "missing", "routes"],
      ...["failing", "price", "channels", "drift", "quarantine", "holds", "months", "backups"],
      ...["servers", "secrets", "gauges", "operators", "tokens"],
      ...[
        "/customers",
        "/calls",
        "/money",
        "/money/movements",
        "/report",
        "/traffic",
        "/models",
        "/models/history",
      ],
      ...["/messages", "/approvals", "/audit"],
    ];
    t.strictSame(
      expected.filter((name) => !seen.has(name)),
      [],
    );
  });

  t.test("say when the books show only the first of many rows", async (t) => {
    const answer = (path: string, rows: readonly object[]) =>
      page.route(`**/admin/v1${path}`, (route) => route.fulfill({ json: rows }));
    t.teardown(() => page.unrouteAll());
    await answer("/quarantine?*", Array(99).fill(SELDOM["/quarantine?*"][0]));
    await answer("/holds?*", Array(100).fill(SELDOM["/holds?*"][0]));
    await open("/books");
    const cut = page.getByText("Only 100 rows are shown here.");
    t.equal(await part("The oldest money on hold").filter({ has: cut }).count(), 1);
    t.equal(await cut.count(), 1);
  });

  t.test(
    "put more rows than one answer has into a CSV file, and say when it ends early",
    async (t) => {
      const { accountId: payer } = await createCustomer(stage.gateway);
      await ledgerSql(
        stage.gateway,
        `insert into ledger_entries (account_id, kind, amount, balance_after, reference)
      select '${payer}', 'topup', 1000000, n * 1000000, 'csv-' || n from generate_series(1, 1001) n;
      update wallets set balance = 1001000000, credit_version = 1001, credited = 1001000000
      where account_id = '${payer}'`,
      );
      await open("/money/movements?kind=credit");
      const place = page.locator("main");
      const found = (await csvOf(place)).match(/csv-\d+/g) ?? [];
      t.equal(new Set(found).size, 1_001);
      t.equal(found.length, 1_001);
      t.equal(await page.getByText("The file has the first").count(), 0);

      t.teardown(() => page.unrouteAll());
      const row = {
        ...{ at: NOW, account_id: payer, email: null, kind: "credit", reference: "many" },
        ...{ amount_vnd: "1", balance_vnd: "1", reason: null },
      };
      await page.route("**/admin/v1/movements?*", (route) => {
        const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
        return route.fulfill({
          json: Array.from({ length: limit }, (_, n) => ({ ...row, entry: n })),
        });
      });
      const lines = (await csvOf(place)).trim().split("\r\n");
      t.equal(lines.length, 1 + 20_000);
      await page.getByText("The file has the first 20,000 rows, and there are more.").waitFor();
    },
  );

  /** As the page has it now: `page.url()` comes to know a change later. */
  const address = () => page.evaluate(() => location.href);

  t.test("show the rows with the words of the filter, which the address keeps", async (t) => {
    await open(`/customers/${accountId}?from=2026-01-01`);
    const keys = part("API keys");
    const filter = keys.getByRole("searchbox", { name: "Filter: API keys" });
    const rows = keys.locator("tbody tr");
    await filter.fill("revoke");
    await keys.getByText("Nothing found.").waitFor();
    t.match(await csvOf(keys), /^\ufeffid,[\w,]+\r\n$/, "buttons are not searched");
    for (const words of ["may chu", "CHÍNH máy"]) {
      await filter.fill(words);
      t.match(await rows.allTextContents(), [/^Máy chủ chính/], words);
    }
    t.strictSame(
      [...new URL(await address()).searchParams],
      [
        ["from", "2026-01-01"],
        ["keys", "CHÍNH máy"],
      ],
    );
    await page.reload();
    await rows.first().waitFor();
    t.equal(await filter.inputValue(), "CHÍNH máy");
    t.match(await rows.allTextContents(), [/^Máy chủ chính/]);
    const file = await csvOf(keys);
    t.equal(file.trim().split("\r\n").length, 2);
    t.match(file, /Máy chủ chính/);
    await page.getByLabel("From", { exact: true }).fill("2026-02-01");
    await page.waitForURL(/from=2026-02-01&keys=/);
    await settled(page);
    t.equal(await rows.count(), 1);
    await filter.fill("");
    t.ok((await rows.count()) >= 3);
    t.notMatch(await address(), /keys/);
    await filter.fill("tg-0123456789abcdef");
    t.match(await address(), /keys=tg-0123456$/, "the address never has a whole key");
  });

  t.test("keep the filter of another table when one of a list changes", async (t) => {
    await open("/money?vouchers=tet");
    await page.getByLabel("State").selectOption({ label: "Credited" });
    await page.waitForURL(/vouchers=tet&state=credited/);
    t.match(await part("Vouchers").locator("tbody tr").allTextContents(), [/^Tết/]);
  });

  t.test("keep the cursor in the filter of a page that is read again", async (t) => {
    let reads = 0;
    await page.route("**/admin/v1/report?by=day*", (route) => {
      reads += 1;
      const sums = { cost_vnd: "1", margin_vnd: "1", calls: reads, failed_calls: 0 };
      const rows = ["28", "29"].map((day) => ({
        day: `2026-11-${day}`,
        revenue_vnd: "2",
        ...sums,
      }));
      return route.fulfill({ json: { rows, total: [], cut: false } });
    });
    await page.clock.install();
    await open("");
    const days = part("Day by day");
    const filter = days.getByRole("searchbox");
    await filter.pressSequentially("8/11");
    await filter.press("Home");
    await page.clock.runFor(11_000);
    await days.getByRole("cell", { name: "2", exact: true }).first().waitFor();
    await page.keyboard.type("2");
    t.equal(await filter.inputValue(), "28/11");
    t.equal(await days.locator("tbody tr").count(), 1);
    t.match(await address(), /days=28%2F11$/);
  });
});
