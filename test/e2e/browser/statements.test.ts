import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import t from "tap";
import { verifyStatement } from "../../../plugins/statements/verify.ts";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin, credit, usage } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { until } from "../../support/until.ts";
import { DESKTOP, operatorAt, PHONE, picture } from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { startStage } from "./stage.ts";

const SELLER = { name: "Công ty Cổng", tax_code: "0100109106", address: "1 Đường A, Hà Nội" };

t.test("the page of closed statements in a browser", async (t) => {
  const statements = { seller: SELLER, vat_percent: 10 };
  const stage = await startStage({ plugins: { topup: topupSettings(), statements } });
  t.teardown(() => stage.close());

  t.test("shows, prints and exports a month, and takes the buyer of its invoice", async (t) => {
    const { page, complaints, session } = await stage.customer({ acceptDownloads: true });
    const { gateway, url } = stage;
    const account = `/accounts/${session.accountId}`;
    await credit(gateway, session.accountId, 1_000_000);
    const { key } = (await session.post("/keys", { name: "Laptop" })).body;
    const order = (await session.post("/top-ups", { amount_vnd: 200_000 })).body;
    await notify(gateway, transfer({ transferAmount: 200_000, content: `MB ${order.code} nap` }));
    for (const model of ["gpt-5.6-sol", "gpt-5.6-sol", "claude-opus-5-5"]) {
      const messages = [
        { role: "user", content: prompt({ input_tokens: 1_700, output_tokens: 230 }) },
      ];
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({ model, messages }),
      });
      assert.equal(response.status, 200, await response.text());
    }
    await until("all calls are recorded", async () => {
      return (await usage(gateway, session.accountId)).length === 3;
    });
    const correction = { amount_vnd: "-77000", reference: "once", reason: "Credited twice" };
    await admin(gateway, "POST", `${account}/adjustments`, correction);
    await ledgerSql(
      gateway,
      `set session_replication_role = replica;
      update ledger_entries set at = date_trunc('month', now()) - interval '20 days' + least(id, 300) * interval '1 hour';
      reset session_replication_role`,
    );
    await gateway.stop();
    await gateway.start();

    await signInByForm(page, url, session.email);
    await page.getByRole("link", { name: "Sao kê" }).first().click();
    await until("the month is closed", async () => {
      return (await session.get("/statements")).body.data.length === 1;
    });
    await page.getByRole("link", { name: "Sao kê đã chốt" }).click();
    const rows = page.locator(".money tbody tr");
    await rows.getByText("Chuyển khoản TG").waitFor();
    await rows.filter({ hasText: "Điều chỉnh giảm" }).getByText("-77.000 đ").waitFor();
    await rows.filter({ hasText: "gpt-5.6-sol" }).getByText("2 lượt gọi").waitFor();
    t.strictSame(await findings(page), []);
    await page.getByLabel("Tên công ty").fill("Công ty Khách");
    await page.getByLabel("Địa chỉ").fill("2 Đường B, Huế");
    // The sixth digit is mistyped.
    await page.getByLabel("Mã số thuế").fill("0100122437");
    await page.getByRole("button", { name: "Lưu" }).click();
    await page
      .getByRole("alert")
      .getByText(/^Mã số thuế.*: Thông tin nhập chưa hợp lệ/)
      .waitFor();
    await page.getByRole("alert").getByText("a tax code (MST) of 10 digits").waitFor();
    // A branch's code, as many write it.
    await page.getByLabel("Mã số thuế").fill("0100109106001");
    await page.getByRole("button", { name: "Lưu" }).click();
    await page.locator(".parties").getByText("0100109106-001").waitFor();
    await page.getByLabel("Mã số thuế").fill("0100112437");
    await page.getByRole("button", { name: "Lưu" }).click();
    await page.locator(".parties").getByText("Công ty Khách").waitFor();
    const [closed] = (await session.get("/statements")).body.data;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV", exact: true }).click(),
    ]);
    t.equal(download.suggestedFilename(), `statement-${closed.month}.csv`);
    const file = readFileSync(await download.path(), "utf8");
    t.strictSame(verifyStatement(file, { digest: closed.digest }).problems, []);
    const [proof] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV dùng dấu chấm thập phân" }).click(),
    ]);
    const sum = createHash("sha256").update(readFileSync(await proof.path()));
    t.equal(sum.digest("hex"), closed.digest, "as the commands of every system print it");

    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 794, height: 1123 });
    const shown = (text: string) => page.getByText(text).first().isVisible();
    for (const text of ["Công ty Cổng", "Công ty Khách", "0100112437", closed.digest])
      t.ok(await shown(text), text);
    for (const text of ["Thông tin xuất hóa đơn GTGT", "Tổng quan"])
      t.notOk(await shown(text), text);
    await picture(page, "statement-print");
    const pdf = await page.pdf({ format: "A4" });
    t.equal(pdf.toString("latin1").match(/\/Type \/Page\b(?!s)/g)?.length, 1, "one sheet");
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize(DESKTOP);
    await picture(page, "statement-desktop");

    await page.setViewportSize(PHONE);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.reload({ waitUntil: "networkidle" });
    t.strictSame(await sticksOut(page), []);
    t.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
    t.strictSame(await findings(page), []);
    await picture(page, "statement-phone");
    // The refused tax code.
    const unexpected = complaints.filter((text) => !text.includes("status of 400"));
    t.strictSame(unexpected, []);
  });

  t.test("shows an operator the data of a customer's VAT invoice", async (t) => {
    const [account] = (await admin(stage.gateway, "GET", "/accounts")).body["list"] as {
      id: string;
    }[];
    const { page, complaints } = await operatorAt(stage, `/customers/${account?.id}`);
    const month = page.locator("main section", { hasText: "Closed statements" });
    await month.getByRole("link", { name: "Show" }).click();
    await page.waitForURL(/\/customers\/[^/]+\/statements\/20\d\d-\d\d$/);
    const invoice = page.locator("main section", { hasText: "VAT invoice" }).first();
    await invoice.getByText("Công ty Khách, 0100112437, 2 Đường B, Huế").waitFor();
    const net = await invoice.locator("dd").nth(2).textContent();
    const vat = await invoice.locator("dd").nth(3).textContent();
    const total = await invoice.locator("dd").nth(4).textContent();
    const amount = (text: string | null) => Number(text?.replace(/\D/g, ""));
    t.ok(amount(total) > 0);
    t.equal(amount(net) + amount(vat), amount(total));
    await page.getByText("Credited twice").waitFor();
    t.match(
      await page.locator(".cli code").last().textContent(),
      /statement --account \S+ --month/,
    );
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      t.strictSame(await findings(page), []);
      t.strictSame(await sticksOut(page), []);
      await picture(page, `console-statement-${width}`);
    }
    t.strictSame(complaints, []);
  });
});
