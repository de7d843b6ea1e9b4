import type { Page } from "playwright-core";
import t from "tap";
import { roles } from "../../../core/plugin/operator.ts";
import { pages } from "../../../plugins/console/browser/page-table.ts";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin, createCustomer, wallet } from "../../support/admin.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import {
  createOperator,
  OPERATOR_PASSWORD,
  type TestOperator,
  totpCode,
} from "../../support/operators.ts";
import { until } from "../../support/until.ts";
import { DESKTOP, openConsole, PHONE, picture, settled } from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { type Stage, startStage } from "./stage.ts";

const BOUNDS = { finance: 5_000_000, owner: 5_000_000 };

t.test("operators in the console", async (t) => {
  let stage: Stage;
  let accountId: string;
  const people: Record<string, TestOperator> = {};
  const codes = new Map<string, string[]>();
  t.before(async () => {
    stage = await startStage({
      plugins: { topup: topupSettings(), operators: { second_person_above_vnd: BOUNDS } },
    });
    const { gateway } = stage;
    ({ accountId } = await createCustomer(gateway, {
      email: "minh@customer.test",
      creditVnd: 900,
    }));
    for (const name of [...roles.names, "alone"]) {
      const role = name === "alone" ? "owner" : name;
      const person = await createOperator(gateway, role, `${name}@shop.test`);
      people[name] = person;
      codes.set(name, [...person.recoveryCodes]);
    }
    await admin(gateway, "POST", "/tokens", { name: "billing-job", role: "finance" });
  });
  t.teardown(() => stage.close());

  const open = (page: Page, path: string) => openConsole(stage, page, path);
  /** Signs in with password and code. `locale` and size as of the visitor. */
  async function signedIn(role: string, options = { viewport: DESKTOP, locale: "en" }) {
    const { page, complaints } = await stage.visitor(options);
    const { email, secret } = people[role] as TestOperator;
    await open(page, "/sign-in");
    await page.fill("input[type=email]", email);
    await page.fill("input[type=password]", OPERATOR_PASSWORD);
    await page.click("button[type=submit]");
    const code = page.locator("input[autocomplete=one-time-code]");
    await code.waitFor();
    // A code of the app counts once in 30 seconds.
    await code.fill(codes.get(role)?.pop() ?? totpCode(secret));
    await page.click("button[type=submit]");
    await page.locator(".sidebar, .bottombar").first().waitFor({ state: "attached" });
    await settled(page);
    return { page, complaints };
  }

  t.test(
    "a viewer sees figures, no address of a customer, and no button for a change",
    async (t) => {
      const { page } = await signedIn("viewer");
      for (const path of [
        `/customers/${accountId}`,
        "/customers",
        "/approvals",
        "/operators",
        "/upstreams",
        "/books",
        "/servers",
        "/money",
        "/money/statement",
        "/models/reload",
        "/messages",
      ]) {
        await open(page, path);
        const text = (await page.locator("main").textContent()) ?? "";
        t.notMatch(text, /minh@/, path);
        // The others are for changes alone.
        if (!["/messages", "/money/statement", "/models/reload"].includes(path))
          t.notMatch(text, /role does not allow/, `${path} asks for nothing that is refused`);
        const buttons = await page.locator("main button").allTextContents();
        const changes = buttons.filter((name) =>
          /credit|debit|discount|suspend|revoke|switch|invite|create|reset|remove|begin|assign|approve|make|announce|differs|channels/i.test(
            name,
          ),
        );
        t.strictSame(changes, [], path);
        t.equal(await page.locator("main input[type=file]").count(), 0, path);
        t.equal(await page.locator("main .empty h1").count(), path === "/messages" ? 1 : 0, path);
      }
      await open(page, `/customers/${accountId}`);
      await picture(page, "viewer-customer-en");
      t.equal(await page.locator('.sidebar a[href$="/messages"]').count(), 0);
      t.equal(await page.locator('.sidebar a[href$="/books"]').count(), 1);
    },
  );

  t.test("a viewer finds a key by its first characters, and a transfer", async (t) => {
    const path = `/accounts/${accountId}/keys`;
    const { key } = (await admin(stage.gateway, "POST", path, { name: "laptop" })).body;
    const sent = transfer({ transferAmount: 77_000, content: "chuyen tien" });
    await notify(stage.gateway, sent);
    const { page, complaints } = await signedIn("viewer");
    await open(page, `/search?q=${String(key).slice(0, 10)}`);
    await page.locator("main tbody tr", { hasText: "laptop" }).waitFor();
    t.notMatch(await page.locator("main").textContent(), /minh@|role does not allow/);
    await open(page, `/search?q=${sent.id}`);
    await page.getByRole("link", { name: /77,000 đ · chuyen tien/ }).waitFor();
    await open(page, "/search?q=minh");
    await page.getByText("Nothing found.").waitFor();
    await page.getByText("Your role finds a customer by the id").waitFor();
    t.equal(await page.locator(".cli").count(), 0, "no command that the role is refused");
    await open(page, `/search?q=${accountId}`);
    await page.locator(`main .item a[href$="/customers/${accountId}"]`).waitFor();
    const isExpected = (text: string) =>
      /status of (?:401 .*\/sign-in|404 .*\/(?:calls|orders)\/)/.test(text);
    t.strictSame(
      complaints.filter((text) => !isExpected(text)),
      [],
    );
  });

  t.test("says when to try again after too many wrong passwords", async () => {
    const { page } = await stage.visitor({ viewport: DESKTOP, locale: "en" });
    await open(page, "/sign-in");
    await page.fill("input[type=email]", "thief@shop.test");
    await page.fill("input[type=password]", "not the password");
    const submit = page.locator("button[type=submit]:not([aria-busy=true])");
    const refused = page.getByText(/^Too many requests\. Try again in \d+ seconds?\.$/);
    await until("the wrong passwords are too many", async () => {
      const reply = page.waitForResponse("**/admin/v1/sign-in");
      await submit.click();
      return (await reply).status() === 429;
    });
    await refused.waitFor();
  });

  for (const role of roles.names) {
    t.test(`${role}: every page opens, and asks for nothing that is refused`, async (t) => {
      const { page, complaints } = await signedIn(role);
      const paths = pages.flatMap(({ access, path }) => (access === undefined ? path : []));
      for (const path of [...paths, `/customers/${accountId}`]) {
        await open(page, path);
        t.ok(await page.locator("main h1").count(), `${role} ${path}`);
        t.strictSame(await findings(page), [], `${role} ${path}`);
      }
      await picture(page, `${role}-customer-en`);
      const isExpected = (text: string) => /status of 401 .*\/sign-in/.test(text);
      t.strictSame(
        complaints.filter((text) => !isExpected(text)),
        [],
      );
    });
  }

  t.test("a large credit takes two persons", async (t) => {
    const { page } = await signedIn("finance");
    await open(page, `/customers/${accountId}`);
    await page.getByRole("button", { name: "Credit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount").fill("7000000");
    await dialog.getByLabel("Reason").fill("Hợp đồng tháng 11");
    await dialog.getByRole("button", { name: "Credit" }).click();
    await dialog.getByText("Credit 7,000,000 đ to").waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.getByText("This needs a second person").waitFor();
    await picture(page, "waits-en");
    t.equal((await wallet(stage.gateway, accountId)).balance, "900");
    await open(page, "/approvals");
    await page.getByRole("button", { name: "Withdraw: 7,000,000" }).waitFor();
    t.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);

    const { page: second } = await signedIn("owner");
    await open(second, "/approvals");
    await picture(second, "approvals-en");
    const approve = second.getByRole("button", { name: "Approve: 7,000,000" });
    const asked = second.getByRole("dialog");
    await second.route("**/admin/v1/approvals?**", async (route) => {
      const [one] = await (await route.fetch()).json();
      await route.fulfill({ json: [{ ...one, reason: null }] });
    });
    await open(second, "/approvals");
    await approve.click();
    t.equal(await asked.locator("p.hint").textContent(), "finance@shop.test", "without a reason");
    await second.unroute("**/admin/v1/approvals?**");
    await open(second, "/approvals");
    await approve.click();
    await asked.getByText("finance@shop.test: Hợp đồng tháng 11").waitFor();
    t.match(
      await asked.locator("p").first().textContent(),
      /^Credit console-\w+ · 7,000,000 đ · minh@customer\.test$/,
    );
    await asked.getByRole("button", { name: "Approve" }).click();
    await asked.waitFor({ state: "detached" });
    await second.getByText("Nothing waits.").waitFor();
    t.equal((await wallet(stage.gateway, accountId)).balance, "7000900");
  });

  t.test("who asked for a movement by mistake withdraws it", async (t) => {
    const { session } = people["finance"] as TestOperator;
    const asked = { amount_vnd: "8000000", reference: "mistake", reason: "a contract" };
    const path = `/accounts/${accountId}/credits`;
    t.equal((await admin(session, "POST", path, asked)).status, 428);
    const { page } = await signedIn("finance");
    await open(page, "/approvals");
    await page.getByRole("button", { name: "Withdraw: 8,000,000" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("the wrong customer");
    await dialog.getByRole("button", { name: "Withdraw" }).click();
    await page.getByText("Nothing waits.").waitFor();
    await page.setViewportSize(PHONE);
    await open(page, "/approvals?state=");
    t.strictSame(await findings(page), [], "decided ones");
    t.strictSame(await sticksOut(page), [], "decided ones");
  });

  t.test("an owner invites a person, who sets up the access", async (t) => {
    const { page, complaints } = await signedIn("owner");
    for (const [path, file] of [
      ["/operators", "operators"],
      ["/", "days"],
    ] as const) {
      await open(page, path);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: `CSV: ${file}` }).click(),
      ]);
      t.equal(download.suggestedFilename(), `${file}.csv`);
    }
    await open(page, "/operators");
    await page.getByRole("button", { name: "Invite a person" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("new@shop.test");
    await dialog.getByLabel("Role").selectOption("support");
    await dialog.getByRole("button", { name: "Invite a person" }).click();
    const link = (await dialog.locator("[data-secret]").textContent()) ?? "";
    await picture(page, "invited-en");
    t.match(link, /\/console\/join#token=/);
    const { page: person } = await stage.visitor({ viewport: PHONE, locale: "vi" });
    await person.goto(link);
    const secret = (await person.locator("[data-secret]").textContent()) ?? "";
    t.notMatch(person.url(), /token/);
    t.strictSame(await findings(person), [], "join");
    await picture(person, "join-vi-360");
    await person.fill("input[type=password]", OPERATOR_PASSWORD);
    await person.fill("input[autocomplete=one-time-code]", totpCode(secret.replace(/\s/g, "")));
    await person.click("button[type=submit]");
    const codes = (await person.locator("[data-codes]").textContent()) ?? "";
    t.strictSame(await findings(person), [], "codes");
    await person.getByRole("button", { name: "English" }).click();
    await person.getByText("Keep these recovery codes").waitFor();
    t.equal(await person.locator("[data-codes]").textContent(), codes, "in the other language too");
    await person.click("button[type=submit]");
    await person.locator(".bottombar").waitFor();
    const isExpected = (text: string) => /status of 401 .*\/sign-in/.test(text);
    t.strictSame(
      complaints.filter((text) => !isExpected(text)),
      [],
    );
  });

  t.test("an idle session gives the password again before money moves", async (t) => {
    const { page } = await signedIn("finance");
    await open(page, `/customers/${accountId}`);
    let isStale = true;
    await page.route("**/admin/v1/**", async (route) => {
      const url = route.request().url();
      if (url.endsWith("/proof")) isStale = false;
      if (isStale && url.endsWith("/credits")) {
        const error = { code: "proof_required", message: "Send your password" };
        await route.fulfill({ status: 403, json: { error } });
      } else await route.continue();
    });
    await page.getByRole("button", { name: "Credit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Amount").fill("1000");
    await dialog.getByLabel("Reason").fill("again");
    await dialog.getByRole("button", { name: "Credit" }).click();
    const proof = dialog.getByLabel("Your password, or a code from the app");
    await proof.fill("a wrong password");
    await dialog.getByRole("button", { name: "Credit" }).click();
    await dialog.getByText("The password is wrong.").waitFor();
    isStale = true;
    await proof.fill(OPERATOR_PASSWORD);
    await dialog.getByRole("button", { name: "Credit" }).click();
    await dialog.getByText("Credit 1,000 đ to").waitFor();
    await picture(page, "proof-en");
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.waitFor({ state: "detached" });
    t.equal((await wallet(stage.gateway, accountId)).balance, "7001900");
  });

  t.test("an idle session compares a bank's statement, and records it with a proof", async (t) => {
    const { page } = await signedIn("finance");
    await open(page, "/money/statement");
    await ledgerSql(
      stage.gateway,
      "update operator_sessions set proven_at = now() - interval '16 minutes'",
    );
    const csv = "Ngày giao dịch;Số bút toán;Ghi nợ;Ghi có;Nội dung\n2026-11-20;FT77;;123456;ai do";
    await page.setInputFiles("input[type=file]", {
      ...{ name: "bank.csv", mimeType: "text/csv", buffer: Buffer.from(csv) },
    });
    const compared = page.locator("main section", { hasText: "Comparison" });
    await compared.or(page.locator("main .notice.bad")).first().waitFor();
    t.strictSame(await page.locator("main .notice.bad").allTextContents(), []);
    await page.getByRole("button", { name: "Record them" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Record them" }).click();
    await dialog.getByLabel("Your password, or a code from the app").fill(OPERATOR_PASSWORD);
    await dialog.getByRole("button", { name: "Record them" }).click();
    await page.getByText("They are recorded.").waitFor();
  });

  t.test("an owner who resets himself keeps the link until he has closed it", async (t) => {
    const { page } = await signedIn("alone");
    await open(page, "/operators");
    await page.getByRole("button", { name: "Reset: alone@shop.test" }).click();
    const dialog = page.getByRole("dialog");
    t.match(await dialog.locator("p").first().textContent(), /This is you/);
    await dialog.getByRole("button", { name: "Reset" }).click();
    await dialog.locator("[data-secret]").waitFor();
    await page.waitForLoadState("networkidle");
    t.match(await dialog.locator("[data-secret]").textContent(), /join#token=/);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("Your session has ended.").waitFor();
  });

  t.test("the language can be changed on a phone", async (t) => {
    const { page } = await signedIn("viewer", { viewport: PHONE, locale: "vi" });
    await page.getByRole("button", { name: "English" }).click({ timeout: 5_000 });
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    t.strictSame(await sticksOut(page), []);
    await picture(page, "phone-language-en");
  });
});
