import { readFileSync } from "node:fs";
import t from "tap";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin } from "../../support/admin.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { DESKTOP, operatorAt, PHONE } from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { startStage } from "./stage.ts";

const DAY_MS = 86_400_000;
const dayIn = (days: number) => dayOf(new Date(Date.now() + days * DAY_MS));
const BONUSES = [
  {
    ...{ name: "tet", title: "Thưởng Tết", first_day: dayIn(-2), last_day: dayIn(2) },
    ...{ percent: 10, minimum_vnd: 500_000, bonus_max_vnd: 80_000 },
  },
];

t.test("vouchers and bonuses in a browser", async (t) => {
  const stage = await startStage({
    plugins: { topup: { ...topupSettings(), promotions: { bonuses: BONUSES } } },
  });
  t.teardown(() => stage.close());

  async function codesOf(changes: object = {}): Promise<string[]> {
    const wanted = { amount_vnd: "50000", until: dayIn(9), note: "Tết", ...changes };
    const { body } = await admin(stage.gateway, "POST", "/vouchers", wanted);
    return (body["list"] as { code: string }[]).map(({ code }) => code);
  }

  for (const viewport of [PHONE, DESKTOP]) {
    t.test(`a customer redeems a code, at ${viewport.width} pixels`, async (t) => {
      const { page, complaints, session } = await stage.customer({ viewport });
      const [code = "", other = ""] = await codesOf({ count: 2, once_per_customer: true });
      await signInByForm(page, stage.url, session.email);
      await page.goto(`${stage.url}/dashboard/top-up`);
      const redeem = async (text: string) => {
        await page.getByLabel("Mã", { exact: true }).fill(text);
        await page.getByRole("button", { name: "Đổi mã" }).click();
      };
      await redeem("0000-0000-0000-0000-0000");
      await page.getByText("Mã này không hợp lệ.").waitFor();
      t.strictSame(await findings(page), []);
      await redeem(code.toLowerCase().replaceAll("-", " "));
      await page.getByText("Đã cộng 50.000 đ. Số dư hiện tại: 50.000 đ.").waitFor();
      t.strictSame(await findings(page), []);
      t.strictSame(await sticksOut(page), []);
      await page.locator(".wallet:visible", { hasText: "50.000 đ" }).waitFor();
      await redeem(code);
      await page.getByText("Bạn đã đổi mã này rồi (50.000 đ)").waitFor();
      await redeem(other);
      await page.getByText("Mỗi khách hàng chỉ được một mã.").waitFor();
      await page.goto(`${stage.url}/dashboard/money`);
      const row = page.locator("tbody tr", { hasText: "Mã quà tặng" });
      await row.waitFor();
      t.match(await row.textContent(), /\+50\.000 đ.*50\.000 đ/s);
      const isExpected = (text: string) => /status of (?:404|409) .*\/vouchers/.test(text);
      t.strictSame(
        complaints.filter((text) => !isExpected(text)),
        [],
      );
    });

    t.test(`a customer sees a bonus before and after paying, at ${viewport.width}`, async (t) => {
      const { page, complaints, session } = await stage.customer({ viewport });
      await signInByForm(page, stage.url, session.email);
      await page.goto(`${stage.url}/dashboard/top-up`);
      await page.getByText("Thưởng 10% cho mỗi lần chuyển khoản từ 500.000 đ.").waitFor();
      t.equal(await page.getByText("Bạn được thưởng").isVisible(), false, "200,000 earn none");
      await page.getByLabel(/^1\.000\.000 đ/).check();
      await page.getByText("Bạn được thưởng 80.000 đ, số dư tăng 1.080.000 đ").waitFor();
      await page.getByLabel("Số tiền nạp").fill("600000");
      await page.getByText("Bạn được thưởng 60.000 đ, số dư tăng 660.000 đ").waitFor();
      t.strictSame(await findings(page), []);
      t.strictSame(await sticksOut(page), []);
      await page.getByRole("button", { name: "Tạo mã QR" }).click();
      await page.getByText("bạn được thưởng 60.000 đ").waitFor();
      const content = (await page.locator("dl.transfer dd").last().textContent()) ?? "";
      const transactionDate = `${dayIn(0)} 12:00:00`;
      const [code] = /TG\w+/.exec(content) ?? [];
      await notify(
        stage.gateway,
        transfer({ content: code ?? "", transferAmount: 600_000, transactionDate }),
      );
      await page.getByText("Số dư hiện tại: 660.000 đ").waitFor();
      await page.getByText("+ thưởng 60.000 đ").waitFor();
      t.strictSame(await findings(page), []);
      await page.goto(`${stage.url}/dashboard/money`);
      const row = page.locator("tbody tr", { hasText: "Thưởng nạp tiền" });
      await row.waitFor();
      t.match(await row.textContent(), /Thưởng Tết.*\+60\.000 đ.*660\.000 đ/s);
      await page.goto(`${stage.url}/dashboard/top-up`);
      await page.getByText("+ thưởng 60.000 đ").waitFor();
      t.strictSame(complaints, []);
    });

    t.test(`an operator makes and cancels codes, at ${viewport.width}`, async (t) => {
      const { page, complaints } = await operatorAt(stage, "/money", { viewport });
      await page.getByRole("button", { name: "Make codes" }).click();
      const dialog = page.getByRole("dialog");
      const note = `fair ${viewport.width}`;
      await dialog.getByLabel("Amount").fill("20000");
      await dialog.getByLabel("Codes", { exact: true }).fill("");
      t.notMatch(await dialog.locator(".cli code").textContent(), "--count");
      await dialog.getByLabel("Codes", { exact: true }).fill("3");
      await dialog.getByLabel("Last day").fill(dayIn(5));
      await dialog.getByLabel("For", { exact: true }).fill(note);
      t.strictSame(await findings(page), []);
      await dialog.getByRole("button", { name: "Make codes" }).click();
      await dialog.getByText("Make 3 codes of 20,000 đ, 60,000 đ in all?").waitFor();
      const download = page.waitForEvent("download");
      await dialog.locator("button[type=submit]").click();
      const lines = readFileSync(await (await download).path(), "utf8")
        .trim()
        .split("\r\n");
      t.match(lines[0], /code,amount_vnd,ends_at/);
      t.equal(lines.length, 4);
      const { session } = await stage.customer();
      const code = lines[1]?.split(",")[0];
      t.equal((await session.post("/vouchers", { code })).status, 200);
      await page.locator(".toast").waitFor({ state: "detached" });
      await page.getByRole("link", { name: note }).click();
      await page.getByRole("link", { name: session.email }).waitFor();
      t.strictSame(await findings(page), []);
      t.strictSame(await sticksOut(page), []);
      await page.getByRole("button", { name: /^Cancel: fair/ }).click();
      await page.getByRole("dialog").locator("button[type=submit]").click();
      await page.getByText("Cancelled", { exact: true }).waitFor();
      t.equal(await page.getByRole("button", { name: /^Cancel: fair/ }).count(), 0);
      await page.goto(`${stage.url}/console/money`);
      await page.getByRole("link", { name: note }).waitFor();
      await page.waitForLoadState("networkidle");
      t.strictSame(await findings(page), []);
      t.strictSame(await sticksOut(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      t.ok(width <= viewport.width, `${width}`);
      t.strictSame(
        complaints.filter((text) => !/confirm|status of (?:401|409)/.test(text)),
        [],
      );
    });
  }
});
