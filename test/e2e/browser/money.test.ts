import { readFileSync } from "node:fs";
import t from "tap";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { notify, transfer } from "../../plugins/topup/topups.ts";
import { admin, credit, usage } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { until } from "../../support/until.ts";
import { startStage } from "./stage.ts";

t.test("the money page in a browser", async (t) => {
  const stage = await startStage({ plugins: { topup: topupSettings() } });
  t.teardown(() => stage.close());

  t.test("shows all that moved, and sums that end in the balance", async (t) => {
    const { page, complaints, session } = await stage.customer({ acceptDownloads: true });
    const { gateway } = stage;
    const account = `/accounts/${session.accountId}`;
    await credit(gateway, session.accountId, 1_000_000);
    const correction = { amount_vnd: "-77000", reference: "once", reason: "Credited twice" };
    t.equal((await admin(gateway, "POST", `${account}/adjustments`, correction)).status, 200);
    t.equal(
      (await admin(gateway, "POST", `${account}/discount`, { discount_bps: 500 })).status,
      200,
    );
    const order = (await session.post("/top-ups", { amount_vnd: 200_000 })).body;
    await notify(gateway, transfer({ transferAmount: 200_000, content: `MB ${order.code} nap` }));
    const { key } = (await session.post("/keys", { name: "Laptop" })).body;
    for (let call = 0; call < 2; call += 1) {
      const response = await fetch(`${stage.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: "gpt-5.6-sol",
          messages: [{ role: "user", content: prompt({ input_tokens: 17, output_tokens: 23 }) }],
        }),
      });
      t.equal(response.status, 200, await response.text());
    }
    await until("both calls are recorded", async () => {
      return (await usage(gateway, session.accountId)).length === 2;
    });
    await signInByForm(page, stage.url, session.email);
    await page.getByRole("link", { name: "Sao kê" }).first().click();
    const rows = page.locator(".money tbody tr");
    await rows.getByText("Nhà vận hành cộng tiền").waitFor();
    await rows.getByText("Chuyển khoản TG").waitFor();
    await rows.filter({ hasText: "Điều chỉnh giảm" }).getByText("-77.000 đ").waitFor();
    await page.getByText("5% riêng cho tài khoản của bạn").waitFor();
    const wallet = await page.request.get(`${stage.url}/account/v1/wallet`);
    const { balance_vnd } = await wallet.json();
    const month = await page.getByLabel("Tháng").inputValue();
    const money = await page.request.get(`${stage.url}/account/v1/money?month=${month}`);
    const statement = await money.json();
    t.equal(statement.closing_vnd, balance_vnd);
    t.match(balance_vnd, /\.\d/);
    const sum = statement.rows.reduce(
      (sum: number, { amount_vnd }: { amount_vnd: string }) =>
        sum + Math.round(Number(amount_vnd) * 1e6),
      0,
    );
    t.equal(sum, Math.round(Number(balance_vnd) * 1e6));
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Xuất CSV" }).click(),
    ]);
    t.equal(download.suggestedFilename(), `money-${month}.csv`);
    const lines = readFileSync(await download.path(), "utf8")
      .trimEnd()
      .split("\r\n");
    t.equal(lines.length, statement.rows.length + 2);
    await rows
      .getByRole("link", { name: /lượt gọi$/ })
      .first()
      .click();
    await page.waitForURL(/\/usage\?from=(\d{4}-\d\d-\d\d)&to=\1$/);
    t.strictSame(complaints, []);
  });
});
