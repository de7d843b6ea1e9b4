import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import t from "tap";
import { arrayOf } from "../../../core/process/json.ts";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { showCustomer } from "../../plugins/dashboard/show-customer.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin, createCustomer } from "../../support/admin.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { createOperator } from "../../support/operators.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import {
  DESKTOP,
  openConsole,
  operatorAt,
  PHONE,
  picture,
  settled,
  signInByToken,
} from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { type Stage, startStage, type Visitor } from "./stage.ts";

const EMAIL = "minh.tran@example.com";
/** Of two channels to operators the second one fails: no one listens at the discard port. */
const CHANNELS = {
  mail: ["ops@shop.test"],
  webhook: { url: "http://127.0.0.1:9/", secret: "0123456789abcdef", allow_private: true },
};

/** Pages whose rows are sums. */
const SUMS = /^(?:$|\/report|\/traffic|\/customers(?:$|\?)|\/models\?)/;

/** Figures that lead nowhere, as nothing more is known of them, by page and name. */
const WITHOUT_ROWS: readonly (readonly [page: RegExp, name: RegExp, why: string])[] = [
  [/^\/upstreams/, /^(?:Priority|Weight|Share)$/, "is set in the config"],
  [/by=cause/, /^Count$/, "counts attempts and refusals, of which no record is kept"],
  [/^\/models\/history/, /^(?:From|To|%)$/, "is of a change, a row itself"],
  [/^\/servers/, /^(?:Days old|Now)$/, "is measured"],
  [/^\/customers\/ID/, /^(?:Amount|Balance after)$/, "is of a movement, a row itself"],
];

t.test("the operators' console", { jobs: 4 }, async (t) => {
  let stage: Stage;
  let accountId: string;
  let callId: string;
  let refusedId: string;
  let transferId: string;
  let orderCode: string;
  let messageId: string;
  let batchId: string;
  t.before(async () => {
    stage = await startStage({
      plugins: {
        topup: topupSettings(),
        messages: { operators: CHANNELS },
        operators: { second_person_above_vnd: { finance: 5_000_000, owner: 5_000_000 } },
      },
    });
    const { session, orderId } = await showCustomer(stage, EMAIL);
    accountId = session.accountId;
    orderCode = String((await session.get(`/top-ups/${orderId}`)).body.code);
    await notify(stage.gateway, transfer({ transferAmount: 77_000, content: "chuyen tien" }));
    const { body } = await admin(stage.gateway, "GET", `/calls?account=${accountId}&limit=1`);
    const [call] = body["calls"] as { call_id: string }[];
    callId = String(call?.call_id);
    const unmatched = await admin(stage.gateway, "GET", "/transfers?state=unmatched");
    const [waiting] = unmatched.body["list"] as { id: string }[];
    transferId = String(waiting?.id);
    const day = dayOf(new Date(Date.now() + 86_400_000));
    const batch = { amount_vnd: "50000", until: day, note: "Tết" };
    batchId = String((await admin(stage.gateway, "POST", "/vouchers", batch)).body["id"]);
    const { session: finance } = await createOperator(stage.gateway, "finance");
    const large = { amount_vnd: "7000000", reference: "large-1", reason: "Hợp đồng" };
    const asked = await admin(finance, "POST", `/accounts/${accountId}/credits`, large);
    assert.match(JSON.stringify(asked.body), /approval_needed/);
    await admin(stage.gateway, "POST", "/tokens", { name: "billing-job", role: "finance" });
    stage.mailServer.refusals.push(550);
    const caller = await createCustomer(stage.gateway, { creditVnd: 1_000 });
    const ask = (directive: object, more: object = {}) =>
      post(stage.gateway, paths.messages, caller, { ...bodies.messages(directive), ...more });
    for (let n = 0; n < 12; n++) await ask({});
    await ask({ status: 500 });
    await ask({ status: 422 });
    const refused = await ask({}, { max_tokens: -1 });
    refusedId = refused.headers.get("x-request-id") ?? "";
    await announce("first");
    await until("a mail is given up", async () => {
      [messageId = ""] = (await messages("failed")).map(({ id }) => id);
      return messageId !== "";
    });
  });
  t.teardown(() => stage.close());

  const announce = (name: string) => {
    const texts = { vi: "Giá mới\n\nTừ ngày mai.", en: "New prices\n\nFrom tomorrow." };
    return admin(stage.gateway, "POST", "/announcements", { name, ...texts });
  };
  async function messages(state: string) {
    const { body } = await admin(stage.gateway, "GET", `/messages?state=${state}`);
    return body["list"] as { id: string; kind: string; subject: string }[];
  }
  const open = (page: Page, path: string) => openConsole(stage, page, path);
  /** Goes there as a link does, without a new document. */
  const follow = async (page: Page, path: string) => {
    await page.evaluate((address) => {
      history.pushState(null, "", address);
      dispatchEvent(new PopStateEvent("popstate"));
    }, `${stage.url}/console${path}`);
    await settled(page);
  };
  const signIn = ({ page }: Visitor, path = "") => signInByToken(stage, page, path);
  const signedIn = async (path = "", locale = "en") =>
    (await operatorAt(stage, path, { locale })).page;
  const pages = () => [
    "",
    "/customers",
    `/customers/${accountId}`,
    "/calls",
    `/calls/${callId}`,
    `/calls/${refusedId}`,
    `/search?q=${encodeURIComponent(EMAIL)}`,
    "/money",
    `/money/${transferId}`,
    "/report?by=model",
    "/upstreams",
    "/upstreams?period=day",
    "/traffic?by=minute&upstream=*",
    "/traffic?by=cause&upstream=anthropic",
    "/traffic?by=upstream",
    "/models?query=claude",
    "/models/history",
    "/models/reload",
    "/money/statement",
    "/money/movements",
    "/books",
    "/servers",
    `/money/vouchers/${batchId}`,
    "/messages?state=failed",
    `/messages/${messageId}`,
    "/approvals",
    "/operators",
    "/audit",
    "/nowhere",
  ];

  for (const [language, colorScheme] of [
    ["vi", "light"],
    ["en", "dark"],
  ] as const) {
    t.test(`fits a phone and a desk in ${language} without a finding of axe`, async (t) => {
      const visitor = await stage.visitor({ viewport: PHONE, colorScheme, locale: language });
      const { page } = visitor;
      await open(page, "/sign-in");
      t.strictSame(await findings(page), [], "sign-in");
      await signIn(visitor);
      const goTo = language === "vi" ? open : follow;
      for (const path of pages()) {
        await goTo(page, path);
        t.strictSame(await findings(page), [], path);
        const isMissing = (await page.locator("main .empty h1").count()) > 0;
        t.equal(isMissing, path === "/nowhere", path);
        for (const viewport of [DESKTOP, PHONE]) {
          await page.setViewportSize(viewport);
          const name = path.replace(/\W+/g, "-") || "-overview";
          await picture(page, `${name}-${language}-${viewport.width}`);
          // A busy browser draws a new size later.
          let out: string[] = [];
          await until(
            () => `nothing sticks out of ${path}: ${out.join("; ")}`,
            async () => {
              out = await sticksOut(page);
              return out.length === 0;
            },
          );
          const width = await page.evaluate(() => document.documentElement.scrollWidth);
          t.ok(width <= viewport.width, `${path} is ${width} pixels wide`);
        }
        const parts = await page.locator("main :not(:has(*))").allTextContents();
        const words = parts.join("\n");
        t.notMatch(
          words,
          /undefined|NaN|\{\w+\}|\b(?:nav|calls|account|report|servers|state)\.[a-z]+\b/,
          path,
        );
      }
      const isExpected = (text: string) => /status of 404 .*\/console\/nowhere/.test(text);
      assert.deepEqual(
        visitor.complaints.filter((text) => !isExpected(text)),
        [],
      );
    });
  }

  t.test("leads from every figure to its rows", async (t) => {
    const page = await signedIn();
    const [seen, unlinked] = [new Set<string>(), new Set<string>()];
    for (const path of pages()) {
      await follow(page, path);
      if (path === "/books") {
        await page.getByRole("button", { name: "Prove it now" }).click();
        await page.locator(".totals", { hasText: "Wallets" }).waitFor();
      }
      const shown = path.replace(accountId, "ID");
      const isLeft = (name: string) =>
        WITHOUT_ROWS.some(([page, names]) => page.test(shown) && names.test(name));
      const figures = await page.evaluate((isOfSums) => {
        const has = (element: Element | null) => element?.querySelector("a[href]") !== null;
        const isSomething = ({ textContent }: Element) => !/^[0–]?$/.test(textContent ?? "");
        const all = [...document.querySelectorAll("main .totals > *, main td.number")];
        return all.filter(isSomething).map((one) => ({
          name: one.getAttribute("data-label") ?? one.querySelector(".hint")?.textContent ?? "",
          // A row that is no sum leads to what it is about.
          isLinked:
            one.matches("a[href]") ||
            has(one) ||
            (one.matches("td") && !isOfSums && has(one.parentElement)),
        }));
      }, SUMS.test(path));
      for (const { name, isLinked } of figures) {
        seen.add(name);
        if (!isLinked && !isLeft(name)) unlinked.add(`${shown} ${name}`);
      }
    }
    t.strictSame([...unlinked], []);
    t.ok(seen.size > 20);
  });

  t.test("asks for the token, keeps it in this tab, and goes to the page asked for", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    await open(page, "/customers?query=minh");
    t.match(page.url(), /\/console\/sign-in\?next=/);
    await page.getByRole("button", { name: "Use the admin token instead" }).click();
    await page.fill("input[type=password]", "a-wrong-token-of-an-operator");
    await page.click("button[type=submit]");
    await page.getByText("The token is wrong").waitFor();
    await page.fill("input[type=password]", stage.gateway.adminToken);
    await page.click("button[type=submit]");
    await page.getByRole("link", { name: EMAIL }).waitFor();
    t.match(page.url(), /\/console\/customers\?query=minh$/);
    const cookies = await page.context().cookies();
    t.notOk(cookies.some(({ value }) => value.includes(stage.gateway.adminToken)));
    t.notOk(page.url().includes(stage.gateway.adminToken));
    const other = await page.context().newPage();
    await open(other, "/customers");
    t.match(other.url(), /sign-in/, "another tab has no token");
    await page.reload();
    await page.getByRole("link", { name: EMAIL }).waitFor();
    await page.locator(".account-menu summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Use the admin token instead" }).waitFor();
    t.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  t.test("hides a secret when it has been left alone for half an hour", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    await page.clock.install();
    await signIn(visitor, "/operators");
    await page.getByRole("button", { name: "Invite a person" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("idle@shop.test");
    await dialog.getByRole("button", { name: "Invite a person" }).click();
    await dialog.locator("[data-secret]").waitFor();
    await page.clock.fastForward("31:00");
    await page.getByText("Your session has ended.").waitFor();
    t.equal(await dialog.count(), 0);
  });

  t.test("credits once, after a look at the balance before and after", async (t) => {
    const page = await signedIn(`/customers/${accountId}`);
    const balance = async () => {
      const { body } = await admin(stage.gateway, "GET", `/accounts/${accountId}/wallet`);
      return Number(body["balance_vnd"]);
    };
    const before = await balance();
    await page.getByRole("button", { name: "Credit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount").fill("50000");
    await dialog.getByLabel("Reason").fill("Quà tặng");
    t.match(
      await dialog.locator(".cli code").textContent(),
      /credit --account .* --reference console-/,
    );
    await dialog.getByRole("button", { name: "Credit" }).click();
    await dialog.getByText("Credit 50,000 đ to").waitFor();
    await dialog.getByText("Balance:").waitFor();
    t.equal(await balance(), before, "nothing is sent before the second look");
    // The first reply is lost, as on a bad line; the operator clicks again.
    let isLost = false;
    await page.route("**/credits", async (route) => {
      if (isLost) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.locator(".notice.bad").waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Quà tặng").first().waitFor();
    t.equal(await balance(), before + 50_000);
    const actions = await admin(stage.gateway, "GET", `/actions?account=${accountId}`);
    t.match(JSON.stringify(actions.body), /Quà tặng/);
  });

  t.test("limits, pauses and resumes a key, and shows what else is set", async (t) => {
    const page = await signedIn(`/customers/${accountId}`);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Limits: Laptop" }).click();
    await dialog.getByText("A budget counts the calls from when you set it").waitFor();
    await dialog.getByLabel("Budget a day, in đ").fill("20000");
    await dialog.getByLabel("Models").fill("claude-*");
    t.match(
      await dialog.locator(".cli code").textContent(),
      /key restrict --key \S+ --day-vnd 20000 --models 'claude-\*'$/,
    );
    await dialog.getByRole("button", { name: "Save limits" }).click();
    await page.getByText("of 20,000 đ").waitFor();
    let sent = 0;
    page.on("request", (request) => {
      if (/\/limits$/.test(request.url())) sent += 1;
    });
    await page.getByRole("button", { name: "Limits: Laptop" }).click();
    await dialog.getByRole("button", { name: "Save limits" }).click();
    await dialog.waitFor({ state: "detached" });
    t.equal(sent, 0);
    await page.getByRole("button", { name: "Pause: Laptop" }).click();
    await dialog.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume: Laptop" }).waitFor();
    const limits = async () => {
      const { body } = await admin(stage.gateway, "GET", `/accounts/${accountId}/keys`);
      return (body["list"] as { name: string }[]).find(({ name }) => name === "Laptop");
    };
    t.match(await limits(), { limits: { paused: true, day_vnd: "20000", models: ["claude-*"] } });
    await page.getByRole("button", { name: "Add a note" }).click();
    await dialog.getByLabel("Note").fill("wants an invoice");
    await dialog.getByRole("button", { name: "Add a note" }).click();
    await page.getByRole("cell", { name: "wants an invoice", exact: true }).waitFor();
    await page.getByText("today’s top-ups 1%").waitFor();
  });

  t.test("reloads the config after a look at what differs", async (t) => {
    const page = await signedIn("/models/reload");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Show what differs" }).click();
    await page.getByText("No price differs.").waitFor();
    await page.getByRole("button", { name: "Apply it" }).click();
    await dialog.getByLabel("Reason").fill("as agreed");
    await dialog.getByRole("button", { name: "Apply it" }).click();
    await page.getByText("Every gateway now serves by this config.").waitFor();
    const { body } = await admin(stage.gateway, "GET", "/actions?limit=5");
    t.match(JSON.stringify(body), /\/reload.*as agreed/);
    await page.goto(`${stage.url}/console/models/history?model=claude-opus-5-5`);
    await page.getByRole("cell", { name: "36,000 đ" }).first().waitFor();
  });

  t.test("gives a transfer to its owner, and takes it back", async (t) => {
    const sent = transfer({ transferAmount: 88_000, content: "khong ro" });
    await notify(stage.gateway, sent);
    const page = await signedIn("/money?state=unmatched");
    const row = page.locator("main tbody tr", { hasText: "88,000" });
    await row.getByRole("button", { name: "Assign" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Customer or order").fill(EMAIL);
    await dialog.getByLabel("Reason").fill("Khách gọi điện");
    await dialog.getByRole("button", { name: "Assign" }).click();
    await dialog.getByText(`Credit 88,000 đ to ${EMAIL}`).waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await row.waitFor({ state: "detached" });
    await page.goto(`${stage.url}/console/money/${sent.id}`);
    await page.getByRole("button", { name: "Reverse" }).click();
    await dialog.getByLabel("Reason").fill("Nhầm khách");
    await dialog.getByRole("button", { name: "Reverse" }).click();
    await dialog.getByText(`Take 88,000 đ from ${EMAIL}`).waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await page.getByText("Without an owner").waitFor();
    const { body } = await admin(stage.gateway, "GET", `/transfers/${sent.id}`);
    t.match(body, { state: "unmatched", cause: "taken_back", decision: "Nhầm khách" });
  });

  t.test("takes back a transfer that a wrong customer has spent", async (t) => {
    const { session } = await stage.customer();
    const sent = transfer({ transferAmount: 87_000, content: "khong ro" });
    await notify(stage.gateway, sent);
    const to = { account: session.accountId, reason: "x" };
    await admin(stage.gateway, "POST", `/transfers/${sent.id}/assign`, to);
    const spent = { amount_vnd: "-87000", reference: `spent-${sent.id}`, reason: "x" };
    await admin(stage.gateway, "POST", `/accounts/${session.accountId}/adjustments`, spent);
    const page = await signedIn(`/money/${sent.id}`);
    await page.getByRole("button", { name: "Reverse" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("Nhầm khách");
    await dialog.getByRole("button", { name: "Reverse" }).click();
    await dialog.getByText("spent all of it").waitFor();
    await dialog.getByLabel("take what is left").check();
    t.match(await dialog.locator(".cli code").textContent(), /--as-much-as-there-is$/);
    await dialog.getByRole("button", { name: "Reverse" }).click();
    await page.getByText("Without an owner").waitFor();
    const assigned = { account: accountId, reason: "x" };
    await admin(stage.gateway, "POST", `/transfers/${sent.id}/assign`, assigned);
    await page.goto(`${stage.url}/console/customers/${accountId}`);
    await page.getByRole("link", { name: `transfer:${sent.id}:2` }).click();
    await page.getByText("khong ro").first().waitFor();
  });

  t.test("notes that a transfer was sent back", async (t) => {
    const sent = transfer({ transferAmount: 66_000, content: "nham nguoi" });
    await notify(stage.gateway, sent);
    const page = await signedIn(`/money/${sent.id}`);
    await page.getByRole("button", { name: "Sent back" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("Không phải khách");
    t.match(await dialog.locator(".cli code").textContent(), /transfer return --transfer/);
    await dialog.getByRole("button", { name: "Sent back" }).click();
    await page.locator("main dd .badge", { hasText: "Sent back" }).waitFor();
    t.equal(await page.getByRole("button", { name: "Assign" }).count(), 0);
    await open(page, "/audit");
    await page
      .getByText(/noted that the transfer \S+ was sent back/)
      .first()
      .waitFor();
  });

  t.test("says who may have sent a transfer, and compares the bank's statement", async (t) => {
    const content = `MB ${orderCode.slice(0, -1)}0 ck`;
    const sent = transfer({
      transferAmount: 499_000,
      content,
      transactionDate: "2026-11-20 09:00:00",
    });
    await notify(stage.gateway, sent);
    const page = await signedIn(`/money/${sent.id}`);
    const dialog = page.getByRole("dialog");
    await page.getByText("the code differs by one letter").waitFor();
    await page.getByRole("button", { name: `Assign: ${orderCode}` }).click();
    t.equal(await dialog.getByLabel("Customer or order").inputValue(), orderCode);
    await page.keyboard.press("Escape");
    await page.goto(`${stage.url}/console/money/statement`);
    const head = "Ngày giao dịch;Số bút toán;Ghi nợ;Ghi có;Nội dung\nSao kê\n";
    const alike = "2026-11-20;88;;499000;khac";
    const csv = `${head}2026-11-20;FT9;;123456;ai do\n2026-11-20;FT8;5;;\n${alike}`;
    await page.setInputFiles("input[type=file]", {
      ...{ name: "bank.csv", mimeType: "text/csv", buffer: Buffer.from(csv) },
    });
    await page.getByRole("heading", { name: "Not in the statement" }).waitFor();
    await page
      .locator("tr", { hasText: "khac" })
      .getByRole("link", { name: String(sent.id) })
      .waitFor();
    await page
      .getByText("Left out: 1 outgoing, 0 of other accounts; lines without a day: 2.")
      .waitFor();
    await page.getByRole("button", { name: "Record them" }).click();
    await dialog.getByRole("button", { name: "Record them" }).click();
    await page.getByText("They are recorded.").waitFor();
    t.equal(await page.getByRole("heading", { name: "Not in the statement" }).count(), 1);
    const { body } = await admin(stage.gateway, "GET", "/transfers?query=FT9");
    t.match(body["list"], [{ state: "unmatched", source: "import" }]);
    const { body: unclear } = await admin(stage.gateway, "GET", "/transfers?query=88");
    const [one] = unclear["list"] as { id: string }[];
    await page.goto(`${stage.url}/console/money/${one?.id}`);
    const warned = page.locator(".notice.bad", { hasText: "It may be recorded already." });
    await page
      .getByRole("button", { name: /^Assign/ })
      .first()
      .click();
    await dialog.locator(".notice.bad").waitFor();
    await page.keyboard.press("Escape");
    await warned.getByRole("link", { name: String(sent.id) }).click();
    await page.getByText(content).first().waitFor();
  });

  t.test("does not offer to credit an order that is paid again", async (t) => {
    const { session } = await stage.customer();
    const content = String((await session.post("/top-ups", { amount_vnd: 55_000 })).body.code);
    const paid = transfer({ transferAmount: 55_000, content });
    await notify(stage.gateway, paid);
    const sent = { ...paid, id: Number(paid["id"]) + 500_000, accountNumber: "777" };
    await notify(stage.gateway, sent);
    const page = await signedIn(`/money/${sent.id}`);
    const row = page.locator("main tr", { hasText: "its text has this code" });
    await row.getByText("Paid", { exact: true }).waitFor();
    t.equal(await row.getByRole("button").count(), 0);
  });

  t.test("sends a message again, announces, and tries the channels", async (t) => {
    const before = (await messages("failed")).map(({ id }) => id);
    stage.mailServer.refusals.push(550);
    await announce("second");
    const given = async () => (await messages("failed")).find(({ id }) => !before.includes(id));
    await until("another mail is given up", async () => (await given()) !== undefined);
    const failed = await given();
    const page = await signedIn();
    const dialog = page.getByRole("dialog");
    await page.getByRole("link", { name: /messages? w(as|ere) given up$/ }).click();
    t.match(page.url(), /\/messages\?state=failed$/);
    const row = page.locator("main tbody tr", {
      has: page.locator(`a[href$="/messages/${failed?.id}"]`),
    });
    await row.getByText("550").waitFor();
    t.match(await page.locator(".cli code").first().textContent(), /message list --state failed$/);
    await row.getByRole("link").first().click();
    await page.locator("main pre").nth(1).waitFor();
    await page.locator("main dd", { hasText: "550" }).waitFor();
    await page.getByRole("button", { name: "Send now" }).click();
    t.match(
      await dialog.locator(".cli code").textContent(),
      new RegExp(`message retry --id ${failed?.id}$`),
    );
    await dialog.getByRole("button", { name: "Send now" }).click();
    await dialog.waitFor({ state: "detached" });
    const isSent = async () => (await messages("sent")).some(({ id }) => id === failed?.id);
    await until("it is sent", isSent);

    await open(page, `/messages?state=sent&kind=announcement&account=${EMAIL}`);
    await page.getByRole("button", { name: "Announce to customers" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("third");
    await dialog.getByLabel("Kind").selectOption({ label: "Prices" });
    t.match(await dialog.locator(".cli code").textContent(), /announce --name third --kind prices/);
    await dialog.getByLabel("Text in Vietnamese").fill("Bảo trì\n\nTối mai.");
    await dialog.getByLabel("Text in English").fill("Maintenance\n\nTomorrow evening.");
    await dialog.getByRole("button", { name: "Send to all" }).click();
    await dialog.waitFor({ state: "detached" });
    const subject = page.getByRole("cell", { name: "third" });
    await until("it is in the list", async () => {
      await open(page, `/messages?state=sent&kind=prices&account=${EMAIL}`);
      return (await subject.count()) > 0;
    });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    t.equal(download.suggestedFilename(), "messages.csv");
    await page.getByLabel("Kind").selectOption({ label: "Statement" });
    await page.waitForURL(/kind=statement/);
    await page.getByText("No messages.").waitFor();

    await page.getByRole("button", { name: "Try the channels" }).click();
    const tried = page.locator("main section", { hasText: "Channels to operators" });
    await tried.locator("tbody tr").first().waitFor();
    t.match(await tried.locator("tbody tr").allTextContents(), [
      /ops@shop.test.*Sent/,
      /webhook.*[A-Z]/,
    ]);
    t.equal(await tried.locator(".badge.bad").count(), 1);
    await stage.mailServer.mailsTo("ops@shop.test");
  });

  t.test("says how old the newest backup is", async () => {
    const page = await signedIn("/servers");
    await page.getByText("None is recorded.").waitFor();
    const at = "now() - interval '25 hours'";
    await ledgerSql(stage.gateway, `insert into backups values (${at}, 4200000)`);
    await open(page, "/servers");
    await page.locator(".notice.bad", { hasText: "read to its end yesterday" }).waitFor();
    await page.getByRole("cell", { name: "4.2" }).waitFor();
    await ledgerSql(stage.gateway, "insert into backups values (now(), 4300000)");
    await open(page, "/servers");
    await page.locator(".notice.good", { hasText: "read to its end just now" }).waitFor();
  });

  t.test("says how to upgrade, and how to change each secret", async (t) => {
    const page = await signedIn("/servers");
    const part = (title: string) =>
      page
        .locator("main section")
        .filter({ has: page.getByRole("heading", { name: title, exact: true }) });
    const upgrade = part("Upgrade, and the way back");
    await upgrade.locator(".notice.good", { hasText: "works with the database" }).waitFor();
    await upgrade.getByText("Commands for the way back").click();
    t.match(await upgrade.locator("pre").nth(1).textContent(), /docker|kill|systemctl/);
    const token = part("Secrets").locator("tbody tr", { hasText: "admin.token" });
    await token.getByText("Takes a reload").click();
    t.match(await token.locator("pre").textContent(), /npm run admin -- reload/);
    t.notMatch(await part("Secrets").textContent(), stage.gateway.adminToken);
    await picture(page, "servers-open");
  });

  t.test(
    "explains a call that was refused, and shows the hold of one that was charged",
    async (t) => {
      await until("the refusal is counted", async () => {
        return (await admin(stage.gateway, "GET", `/calls/${refusedId}`)).status === 200;
      });
      const page = await signedIn(`/calls/${refusedId}`);
      await page.getByRole("heading", { name: "The gateway refused the call." }).waitFor();
      const { cause } = (await admin(stage.gateway, "GET", `/calls/${refusedId}`)).body;
      await page
        .locator("dd code", { hasText: String(cause) })
        .first()
        .waitFor();
      t.match(
        await page.locator(".cli code").textContent(),
        new RegExp(`call show --call ${refusedId}`),
      );
      await open(page, `/calls/${callId}`);
      await page.locator("main dt", { hasText: "Held for it" }).waitFor();
      await page.getByRole("link", { name: EMAIL }).waitFor();
    },
  );

  t.test("asks in the language of the page before money moves", async (t) => {
    const page = await signedIn(`/customers/${accountId}`, "vi");
    const dialog = page.getByRole("dialog");
    for (const [button, question] of [
      ["Cộng tiền", `Cộng 1.500.000 đ cho ${EMAIL}, số dư hiện tại`],
      ["Trừ tiền", `Trừ 1.500.000 đ của ${EMAIL}, số dư hiện tại`],
    ] as const) {
      await page.getByRole("button", { name: button, exact: true }).click();
      await dialog.getByLabel("Số tiền").fill("1500000");
      await dialog.getByLabel("Lý do").fill("Thử");
      await dialog.locator("button[type=submit]").click();
      await dialog.getByText(question).waitFor();
      t.match(await dialog.getByText(question).textContent(), /hiện tại [\d.]+(?:,\d+)? đ\?$/);
      await page.keyboard.press("Escape");
    }
    await open(page, "/money");
    await page.getByRole("button", { name: "Tạo mã" }).click();
    await dialog.getByLabel("Số tiền").fill("2000000");
    await dialog.getByLabel("Số mã").fill("5");
    await dialog.getByLabel("Ngày cuối").fill(dayOf(new Date()));
    await dialog.getByLabel("Dùng cho").fill("Tết");
    await dialog.locator("button[type=submit]").click();
    await dialog.getByText("Tạo 5 mã, mỗi mã 2.000.000 đ, tổng cộng 10.000.000 đ?").waitFor();
  });

  t.test("leads to the calls that the margin of today leaves out", async (t) => {
    const today = dayOf(new Date());
    await ledgerSql(
      stage.gateway,
      `insert into usage_records select (r).* from (
        select json_populate_record(record, json_build_object(
          'call_id', gen_random_uuid(), 'at', now(), 'charged', 1, 'provider_cost', null)) r
        from usage_records record limit 1
      ) one`,
    );
    const page = await signedIn();
    const link = page.getByRole("link", { name: /without \d+ calls? of unknown cost/ }).first();
    const count = Number(/\d+/.exec((await link.textContent()) ?? "")?.[0]);
    await link.click();
    await page.waitForURL(`**/calls?cost=unknown&from=${today}&to=${today}`);
    await settled(page);
    t.equal(await page.locator("main tbody tr").count(), count);
  });

  t.test("proves the books", async (t) => {
    const page = await signedIn();
    await page
      .getByRole("link", { name: /movement of money waits for a second person$/ })
      .waitFor();
    await page.getByRole("link", { name: /^The books agree to the µđ, proven/ }).click();
    await page.waitForURL(/\/books$/);
    await page
      .getByText(/^The books agree to the µđ, proven (just now|\d+ minutes? ago)/)
      .waitFor();
    await page.getByRole("button", { name: "Prove it now" }).click();
    await page.getByText("The books agree to the µđ").first().waitFor();
    const { accountId } = await createCustomer(stage.gateway, { creditVnd: 1_000 });
    const sql = `update wallets set balance = balance + 5000000 where account_id = '${accountId}'`;
    await ledgerSql(stage.gateway, sql);
    await page.getByRole("button", { name: "Prove" }).click();
    await page.getByRole("button", { name: `Why, and mend: ${accountId}` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("the rows of the ledger prove another one").waitFor();
    t.match(await dialog.textContent(), /Proven1,000.*Stored balance1,005/s);
    t.strictSame(await findings(page), [], "a drift");
    await picture(page, "books-drift-en");
    await page.setViewportSize(PHONE);
    t.strictSame(await sticksOut(page), [], "a drift on a phone");
    await picture(page, "books-drift-phone");
    await page.setViewportSize(DESKTOP);
    await dialog.getByRole("button", { name: "Mend" }).click();
    await dialog.getByText(/Take 5 đ from/).waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".notice.good", { hasText: "The books agree" }).last().waitFor();
    t.match(await page.locator(".cli code").first().textContent(), /reconcile$/);
  });

  t.test("shows the figures of each upstream, and leads from a bar to its rows", async (t) => {
    await until("the calls are counted", async () => {
      const { body } = await admin(stage.gateway, "GET", "/traffic?by=cause");
      return arrayOf(body["rows"]).length > 0;
    });
    const page = await signedIn();
    const hours = page.locator("main section", { hasText: "By hour" });
    t.match(await hours.locator("figcaption").textContent(), /Served \d+.*Failed 2.*Refused 1/);
    await hours.locator("svg a", { has: page.locator(".refused") }).click();
    await page.getByRole("cell", { name: /^400 [a-z_]+$/ }).waitFor();
    t.match(
      await page.locator(".cli code").textContent(),
      /traffic --by cause --from \S+T\d\d:00 --to/,
    );
    await page.goBack();
    await hours.locator("svg a", { has: page.locator(".failed") }).click();
    await page.getByText("2 rows shown").waitFor({ state: "attached" });
    t.match(await page.getByLabel("From").inputValue(), /T\d\d:00$/);

    await open(page, "/upstreams");
    const card = page.locator("main section", { hasText: "anthropic" }).first();
    await card
      .getByText(/^9\d\.\d+%$/)
      .first()
      .waitFor();
    await card.getByText(/http_500 1/).waitFor();
    await card.getByText(/^[\d.]+\sm?s \/ [\d.,]+\sm?s$/).waitFor();
    const [upstreams] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV", exact: true }).click(),
    ]);
    t.match(readFileSync(await upstreams.path(), "utf8"), /uptime_percent.*\r\nanthropic,/);
    await page.getByRole("link", { name: "Last 24 hours" }).click();
    await page.waitForURL(/period=day/);
    await settled(page);
    await card.locator("svg a", { has: page.locator(".failed") }).click();
    await page.getByRole("cell", { name: "http_500" }).waitFor();
    await page.getByLabel("By", { exact: true }).selectOption("upstream");
    await page.waitForURL(/by=upstream/);
    await page.getByRole("cell", { name: /^9\d\.\d+%$/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    t.equal(download.suggestedFilename(), "traffic.csv");
  });

  t.test("switches a provider off and on, and says so", async (t) => {
    const page = await signedIn("/upstreams");
    const dialog = page.getByRole("dialog");
    const isOff = async () => {
      const { body } = await admin(stage.gateway, "GET", "/upstreams");
      const list = body["upstreams"] as { name: string; switched_off: string[] }[];
      return list.find(({ name }) => name === "deepseek")?.switched_off;
    };
    await page.getByRole("button", { name: "Switch off: deepseek", exact: true }).click();
    await dialog.getByLabel("Reason").fill("trial");
    await dialog.getByRole("button", { name: "Switch off" }).click();
    const on = page.getByRole("button", { name: "Switch on: deepseek", exact: true });
    await on.waitFor();
    t.strictSame(await isOff(), ["all models"]);
    await page.goto(`${stage.url}/console/upstreams?state=trouble`);
    await settled(page);
    t.equal(await page.locator("main .card").count(), 1);
    await on.click();
    await dialog.getByLabel("Reason").fill("over");
    await dialog.getByRole("button", { name: "Switch on" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator("main .card").waitFor({ state: "detached" });
    t.strictSame(await isOff(), []);
    const { body } = await admin(stage.gateway, "GET", "/models");
    type Sold = { id: string; routes: { upstream: string }[] };
    const sold = (body["list"] as Sold[]).find(({ routes }) =>
      routes.some(({ upstream }) => upstream === "deepseek"),
    );
    await open(page, "/upstreams");
    await page.getByRole("button", { name: "Switch off: deepseek", exact: true }).click();
    await dialog.getByLabel("One model only").fill(String(sold?.id));
    await dialog.getByLabel("Reason").fill("trial");
    await dialog.getByRole("button", { name: "Switch off" }).click();
    await dialog.waitFor({ state: "detached" });
    const [model] = (await isOff()) ?? [];
    t.match(model, /./);
    await page.getByRole("button", { name: `Switch on: deepseek ${model}` }).click();
    t.equal(await dialog.getByLabel("One model only").count(), 0);
    t.match(
      await dialog.locator(".cli code").textContent(),
      `upstream on --name deepseek --model ${model}`,
    );
    await dialog.getByLabel("Reason").fill("over");
    await dialog.getByRole("button", { name: "Switch on" }).click();
    await dialog.waitFor({ state: "detached" });
    t.strictSame(await isOff(), []);
  });

  t.test("filters calls in the address, exports them, and shows the command", async (t) => {
    const page = await signedIn("/calls");
    const rows = page.locator("main tbody tr");
    t.equal(await rows.count(), 50);
    await page.getByLabel("Status").selectOption("502");
    await page.waitForURL(/status=502/);
    await settled(page);
    for (const text of await rows.allTextContents()) t.match(text, /502/);
    t.match(await page.locator(".cli code").textContent(), /call list --status 502$/);
    await page.getByLabel("Customer (email or id)").fill(EMAIL);
    await page.keyboard.press("Enter");
    await page.waitForURL(/account=minh/);
    await settled(page);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    t.equal(download.suggestedFilename(), "calls.csv");
    const { readFile } = await import("node:fs/promises");
    const lines = (await readFile(await download.path(), "utf8")).split("\r\n");
    t.match(lines[0], /call_id,at,account_id/);
    t.equal(lines.length - 2, await rows.count());
    await page.reload();
    await page.waitForLoadState("networkidle");
    t.equal(await page.getByLabel("Status").inputValue(), "502");
    await page.setViewportSize({ width: 390, height: 780 });
    const wide = await page
      .locator(".filters .field")
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
    t.equal(wide, 0, "no field is wider than its place");
  });

  t.test("lists the calls of a period that were sold below cost", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    const today = dayOf(new Date());
    await ledgerSql(
      stage.gateway,
      `insert into usage_records select (r).* from (
        select json_populate_record(record, json_build_object(
          'call_id', gen_random_uuid(), 'at', now(), 'charged', 1, 'provider_cost', 2)) r
        from usage_records record limit 1
      ) one`,
    );
    const rows = page.locator("main tbody tr");
    const countOf = (text: string | null) => Number(/\d+/.exec(text ?? "")?.[0]);
    await signIn(visitor);
    const sentence = page.getByRole("link", { name: /cost more than (?:it|they) brought/ });
    const count = countOf(await sentence.textContent());
    await sentence.click();
    await page.waitForURL(`**/calls?cost=below&from=${today}&to=${today}`);
    await settled(page);
    t.equal(await rows.count(), count);
    t.equal(await page.getByLabel("Cost").inputValue(), "below");
    t.match(await page.locator(".cli code").textContent(), /call list --cost below --from/);
    await open(page, `/report?from=${today}`);
    const figure = page.locator(".totals a", { hasText: "Sold below cost" });
    t.equal(countOf(await figure.locator("small").textContent()), count);
    await figure.click();
    await page.waitForURL(`**/calls?cost=below&from=${today}&to=${today}`);
  });

  t.test("draws the money of each day, and compares it with the days before", async (t) => {
    const dayAgo = (days: number) => dayOf(new Date(Date.now() - days * 86_400_000));
    const sums = async (from: string, to: string) =>
      (await admin(stage.gateway, "GET", `/report?from=${from}&to=${to}`)).body;
    const page = await signedIn(`/report?by=model&from=${dayAgo(9)}&to=${dayAgo(5)}`);
    const [now, before] = [await sums(dayAgo(9), dayAgo(5)), await sums(dayAgo(14), dayAgo(10))];
    const change = (Number(now["calls"]) / Number(before["calls"]) - 1) * 100;
    const sign = change < 0 ? "−" : "+";
    t.equal(
      await page
        .locator(".totals a", { hasText: /^Calls\d/ })
        .locator("small")
        .textContent(),
      `before ${before["calls"]} (${sign}${Number(Math.abs(change).toFixed(1))}%)`,
    );
    t.equal(await page.locator(".totals small", { hasText: "before" }).count(), 9);
    const bars = page.locator(".time-bars a[tabindex]");
    t.ok((await bars.count()) >= 10, "cost and margin of five days");
    const title = await bars.first().getAttribute("aria-label");
    t.match(title, /^\d\d\/\d\d\/\d{4}: Revenue [\d,.]+ đ, Cost [\d,.]+ đ, Margin [\d,.]+ đ$/);
    await page.getByRole("link", { name: "Compared with" }).click();
    await page.waitForURL(`**/report?by=model&from=${dayAgo(14)}&to=${dayAgo(10)}`);
    await settled(page);
    await page.getByRole("link", { name: "As a table" }).click();
    await page.waitForURL(/by=day/);
  });

  t.test("finds a customer by a pasted key, which the address never has", async (t) => {
    const page = await signedIn();
    const made = await admin(stage.gateway, "POST", `/accounts/${accountId}/keys`, { name: "new" });
    const key = String(made.body["key"]);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.keyboard.press("/");
    await page.getByRole("searchbox").fill(key);
    await page.keyboard.press("Enter");
    const [dialog, found] = [page.getByRole("dialog"), page.locator("main tbody tr")];
    t.match(await page.locator(".cli code").first().textContent(), /key find --query tg-\S{7}$/);
    await found.getByRole("button", { name: "Revoke: new" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await found.getByText("Revoked").waitFor();
    t.match((await admin(stage.gateway, "GET", `/keys?query=${made.body["id"]}`)).body["list"], [
      { id: made.body["id"], status: "revoked", account_id: accountId, email: EMAIL },
    ]);
    await page.getByRole("link", { name: EMAIL }).first().click();
    await page.getByRole("heading", { name: EMAIL }).waitFor();
    t.notOk(asked.some((url) => url.includes(key.slice(0, 14))));
    t.match(asked.join("\n"), new RegExp(`query=${key.slice(0, 10)}&`));
  });

  t.test("cuts a key that is pasted into the filter of a list", async (t) => {
    const page = await signedIn();
    const key = `tg-${"k".repeat(40)}`;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    for (const [path, label] of [
      ["/customers", "Email, id or API key"],
      ["/calls", "Key id"],
      ["/money", "Order code or bank reference"],
    ] as const) {
      await open(page, path);
      const filter = page.getByLabel(label);
      await filter.fill(key);
      await filter.press("Enter");
      await page.waitForFunction(() => location.search.includes("=tg-"));
      await page.waitForLoadState("networkidle");
      t.equal(await filter.inputValue(), key.slice(0, 10), path);
      t.match(await page.evaluate(() => location.href), new RegExp(`=${key.slice(0, 10)}$`));
    }
    t.strictSame(
      asked.filter((url) => url.includes(key.slice(0, 14))),
      [],
    );
  });

  t.test("shows that a key is paused where it is sought, and resumes it there", async (t) => {
    const path = `/accounts/${accountId}/keys`;
    const { body } = await admin(stage.gateway, "POST", path, { name: "leaked" });
    await admin(stage.gateway, "POST", `/keys/${body["id"]}/limits`, { paused: true });
    const page = await signedIn(`/search?q=${body["id"]}`);
    const row = page.locator("main tbody tr", { hasText: "leaked" });
    t.match(await row.textContent(), /Paused/);
    t.strictSame(await row.getByRole("button").allTextContents(), [
      "Limits",
      "Resume",
      "Revoke",
      "Id",
    ]);
  });

  t.test("shows what was found for the newest words, however slow the older ones", async (t) => {
    const page = await signedIn("/search");
    let answerFirst = () => {};
    const first = new Promise<void>((resolve) => {
      answerFirst = resolve;
    });
    await page.route("**/admin/v1/accounts?query=minh*", async (route) => {
      await first;
      await route.continue();
    });
    await page.getByRole("searchbox").fill("minh");
    await page.keyboard.press("Enter");
    await page.getByRole("searchbox").fill("nothing-has-this");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing found.").waitFor();
    const reply = page.waitForResponse("**/admin/v1/accounts?query=minh*");
    answerFirst();
    await (await reply).finished();
    await page.waitForTimeout(500);
    t.equal(await page.getByText("Nothing found.").count(), 1);
    t.equal(await page.getByRole("link", { name: EMAIL }).count(), 0);
  });

  t.test("reads a period once its date is typed, and keeps the field until then", async (t) => {
    const page = await signedIn();
    for (const [path, read] of [
      [`/customers/${accountId}`, "/ledger?"],
      ["/calls", "/calls?"],
    ] as const) {
      await open(page, path);
      let reads = 0;
      page.on("request", (request) => {
        if (request.url().includes(read)) reads += 1;
      });
      const from = page.getByLabel("From", { exact: true });
      await from.fill("2026-10-20");
      await settled(page);
      await page.waitForLoadState("networkidle");
      const before = reads;
      await from.focus();
      // The same in each order of day and month.
      await page.keyboard.type("11112025");
      t.equal(await from.inputValue(), "2025-11-11", path);
      t.equal(reads, before, `${path} waits for the whole date`);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => location.search.includes("from=2025-11-11"));
      await settled(page);
      t.ok(reads > before, path);
    }
    const to = "2026-10-31";
    await open(page, `/customers/${accountId}?from=2026-10-01&to=${to}`);
    await page.getByText("Charged from 01/10/2026 to 31/10/2026").waitFor();
  });

  t.test("shows a suspension though an older reading ends after it", async () => {
    const { accountId: id } = await createCustomer(stage.gateway, { creditVnd: 1_000 });
    const page = await signedIn(`/customers/${id}`);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isRead = () => {};
    const older = new Promise<void>((resolve) => {
      isRead = resolve;
    });
    await page.route(
      `**/admin/v1/accounts/${id}`,
      async (route) => {
        const response = await route.fetch();
        isRead();
        await held;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await page.getByLabel("From", { exact: true }).fill("2026-10-20");
    await page.keyboard.press("Enter");
    await older;
    await page.getByRole("button", { name: "Suspend" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("leaked");
    await dialog.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    const reply = page.waitForResponse(`**/admin/v1/accounts/${id}`);
    release();
    await (await reply).finished();
    await page.waitForTimeout(500);
    await page.getByRole("button", { name: "Resume" }).waitFor({ timeout: 1_000 });
  });

  t.test("says that a call was refunded before, and how much", async () => {
    const caller = await createCustomer(stage.gateway, { creditVnd: 100_000 });
    const reply = await post(stage.gateway, paths.messages, caller, bodies.messages({}));
    const id = reply.headers.get("x-request-id");
    await until("the call is in the ledger", async () => {
      const { body } = await admin(stage.gateway, "GET", `/calls/${id}`);
      return Boolean(body["ledger"]);
    });
    const page = await signedIn(`/calls/${id}`);
    const dialog = page.getByRole("dialog");
    const ask = async () => {
      await page.getByRole("button", { name: "Refund" }).click();
      await dialog.getByLabel("Amount of all refunds of this call").fill("0.01");
      await dialog.getByLabel("Reason").fill("too slow");
      await dialog.getByRole("button", { name: "Refund" }).click();
    };
    await ask();
    await dialog.getByText("Credit 0.01 đ to").waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.waitFor({ state: "detached" });
    await settled(page);
    await page
      .locator("main dl > div", { hasText: "Refunded" })
      .getByText(/^0\.01\sđ$/)
      .waitFor();
    await ask();
    await dialog.getByText("It had counted before, and nothing has changed.").waitFor();
  });

  t.test("refuses in the language of the page, with the amount", async (t) => {
    const poor = await createCustomer(stage.gateway, { creditVnd: 1_500 });
    const page = await signedIn(`/customers/${poor.accountId}`, "vi");
    await page.getByRole("button", { name: "Trừ tiền", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Số tiền").fill("2000");
    await dialog.getByLabel("Lý do").fill("Thử");
    await dialog.locator("button[type=submit]").click();
    await dialog.getByText("Trừ 2.000 đ").waitFor();
    await dialog.locator("button[type=submit]").click();
    await dialog.locator(".notice.bad").waitFor();
    t.match(await dialog.locator(".notice.bad").textContent(), /Ví chỉ còn 1\.500\sđ/);
  });

  t.test("says that no customer has the address that a transfer is assigned to", async (t) => {
    const page = await signedIn(`/money/${transferId}`);
    await page
      .getByRole("button", { name: /^Assign/ })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Customer or order").fill("nobody@shop.test");
    await dialog.getByLabel("Reason").fill("x");
    await dialog.getByRole("button", { name: "Assign" }).click();
    await dialog.locator(".notice.bad").last().waitFor();
    t.match(await dialog.locator("[role=alert]").textContent(), "No customer has this address.");
  });

  t.test("finds a model however its name is written", async (t) => {
    const page = await signedIn("/models?query=Claude");
    t.match(await page.locator("main tbody tr").allTextContents(), [/claude/]);
  });

  t.test("writes a file as a Vietnamese spreadsheet reads it", async (t) => {
    const page = await signedIn("/report?by=model", "vi");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const [head, row] = readFileSync(await download.path(), "utf8").split("\r\n");
    t.match(head, /model;.*revenue_vnd/);
    t.match(row, /;\d+,\d+;/);
  });

  t.test("shows the first rows whole after more of them were asked for", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    const row = (sequence: number) => ({
      ...{ id: `t${sequence}`, sequence, state: "credited", cause: null, direction: "in" },
      ...{ amount_vnd: "1", account: null, order: null, content: `n${sequence}.` },
      received_at: new Date().toISOString(),
    });
    let newest = 100;
    let answerMore = () => {};
    const more = new Promise<void>((resolve) => {
      answerMore = resolve;
    });
    await page.route("**/admin/v1/transfers?*", async (route) => {
      const before = new URL(route.request().url()).searchParams.get("before");
      if (before !== null) await more;
      const first = before === null ? newest : Number(before) - 1;
      await route.fulfill({ json: Array.from({ length: 50 }, (_, n) => row(first - n)) });
    });
    const now = Date.now();
    await page.clock.install({ time: now });
    await page.clock.pauseAt(now + 1_000);
    await signIn(visitor, "/money");
    await page.getByText("n100.").waitFor();
    await page.getByRole("button", { name: "Show more" }).first().click();
    newest = 105;
    const again = page.waitForResponse(/\/transfers\?(?!.*before)/);
    await page.clock.runFor(11_000);
    await (await again).finished();
    answerMore();
    await page.getByText("n1.", { exact: true }).waitFor();
    const seen = (await page.locator("main").textContent()) ?? "";
    for (const n of [100, 56, 51, 50, 1]) t.ok(seen.includes(`n${n}.`), `n${n}`);
  });

  t.test("reads what customers have spent once for all pages of their list", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    await page.route("**/admin/v1/accounts?*", (route) => {
      const after = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
      const created_at = new Date().toISOString();
      const rows = Array.from({ length: 50 }, (_, n) => ({
        ...{ id: String(after + n + 1), email: `c${after + n + 1}@shop.test`, balance_vnd: "0" },
        ...{ status: "active", discount_bps: 0, created_at },
      }));
      return route.fulfill({ json: rows });
    });
    let reports = 0;
    page.on("request", (request) => {
      if (request.url().includes("/report?by=account")) reports += 1;
    });
    await signIn(visitor, "/customers");
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("link", { name: "c100@shop.test" }).waitFor();
    t.equal(reports, 1);
  });

  t.test("finds the owner of an order that is not paid yet", async (t) => {
    const page = await signedIn(`/search?q=${orderCode.toLowerCase()}`);
    t.match(await page.locator(".cli code").textContent(), `order show --code ${orderCode}`);
    await page.getByRole("link", { name: `${orderCode} · 0 đ / 500,000 đ` }).click();
    await page.getByRole("heading", { name: EMAIL }).waitFor();
    t.match(page.url(), accountId);
  });

  t.test("reads again while it is seen, at most every ten seconds", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    const now = Date.now();
    await page.clock.install({ time: now });
    await page.clock.pauseAt(now + 1_000);
    await signIn(visitor);
    let reads = 0;
    page.on("request", (request) => {
      if (request.url().includes("/admin/v1/upstreams")) reads += 1;
    });
    await page.clock.runFor(9_000);
    t.equal(reads, 0);
    const again = page.waitForResponse(/\/admin\/v1\/upstreams/);
    await page.clock.runFor(2_000);
    await again;
    t.equal(reads, 1);
  });

  t.test("says so while a page cannot be read again", async (t) => {
    const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    const { page } = visitor;
    const now = Date.now();
    await page.clock.install({ time: now });
    await page.clock.pauseAt(now + 1_000);
    for (const path of ["", "/money"]) {
      await page.unrouteAll();
      if (path === "") await signIn(visitor, path);
      else await open(page, path);
      const stale = page.locator("main > .notice.bad", { hasText: "This page is as of" });
      t.equal(await stale.count(), 0);
      await page.route("**/admin/v1/**", (route) => route.abort());
      await page.clock.runFor(11_000);
      await stale.waitFor();
      t.match(await stale.textContent(), /Cannot reach the server/);
      await page.unrouteAll();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await stale.waitFor({ state: "detached" });
    }
  });

  t.test("is read by no script, frame or form of another site", async (t) => {
    const { headers } = await fetch(`${stage.url}/console`);
    const policy = headers.get("content-security-policy") ?? "";
    for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      t.ok(policy.includes(rule), rule);
    }
    t.notMatch(policy, /unsafe/);
  });
});
