import { readFileSync } from "node:fs";
import t from "tap";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { BANK, notify, transfer } from "../../plugins/topup/topups.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { startStage } from "./stage.ts";

t.test("a top-up in a browser", async (t) => {
  const stage = await startStage({ plugins: { topup: topupSettings() } });
  t.teardown(() => stage.close());

  t.test(
    "becomes paid by itself when the bank notifies it, and the key works at once",
    async (t) => {
      const { page, complaints, session } = await stage.customer();
      const key = (await session.post("/keys", { name: "laptop" })).body.key;
      const call = () => ask(stage.url, key, "/v1/messages", bodyOf("/v1/messages"));
      t.equal((await call()).status, 402);

      await signInByForm(page, stage.url, session.email);
      await page.goto(`${stage.url}/dashboard/top-up`);
      await page.getByLabel(/^100\.000 đ/).check();
      t.equal(await page.getByLabel("Số tiền nạp").inputValue(), "100.000");
      await page.getByRole("button", { name: "Tạo mã QR" }).click();
      await page.getByText("Đang chờ bạn chuyển khoản").waitFor();

      const copied: Record<string, string> = {};
      for (const name of ["Số tài khoản", "Chủ tài khoản", "Số tiền", "Nội dung chuyển khoản"]) {
        await page.getByRole("button", { name: `Sao chép: ${name}` }).click();
        copied[name] = await page.evaluate(() => navigator.clipboard.readText());
      }
      const content = copied["Nội dung chuyển khoản"] ?? "";
      t.match(content, /^TG/);
      t.strictSame(copied, {
        "Số tài khoản": BANK.account_number,
        "Chủ tài khoản": BANK.account_name,
        "Số tiền": "100000",
        "Nội dung chuyển khoản": content,
      });
      const qr = page.getByRole("img", { name: /Mã VietQR/ });
      const width = await qr.evaluate((image) => (image as HTMLImageElement).naturalWidth);
      t.ok(width > 0, "the QR picture has loaded");

      await notify(
        stage.gateway,
        transfer({ content: `mb 0912 ${content.toLowerCase()} nap tien` }),
      );
      await page.getByText("Đã nhận 100.000 đ. Khóa API của bạn dùng được ngay.").first().waitFor();
      await page.getByText("Số dư hiện tại: 100.000 đ").waitFor();
      t.equal((await call()).status, 200);

      await page.goto(`${stage.url}/dashboard/top-up`);
      const row = page.locator("tbody tr").first();
      await row.waitFor();
      t.match(
        (await row.textContent()) ?? "",
        new RegExp(`${content}.*100\\.000 đ.*Đã thanh toán`),
      );
      // A day with this much earns one percent more until midnight.
      await page.getByText("Bạn đang được giảm 1%").waitFor();
      t.strictSame(complaints, []);
    },
  );

  t.test("shows what is missing after a payment that was too small", async (t) => {
    const { page, session, complaints } = await stage.customer({ acceptDownloads: true });
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/top-up`);
    await page.getByLabel("Số tiền nạp").fill("75000");
    await page.getByRole("button", { name: "Tạo mã QR" }).click();
    await page.getByText("Đang chờ bạn chuyển khoản").waitFor();
    const id = page.url().split("/").at(-1);
    const { code } = (await session.get(`/top-ups/${id}`)).body;
    await notify(stage.gateway, transfer({ content: code, transferAmount: 60_000 }));
    await page.getByText("Đã nhận 60.000 đ trong số 75.000 đ").first().waitFor();
    await page.getByText("Còn thiếu 15.000 đ", { exact: true }).waitFor();
    await page.getByText("+60.000 đ").waitFor();
    await page.getByRole("button", { name: "Sao chép: Số tiền" }).click();
    t.equal(await page.evaluate(() => navigator.clipboard.readText()), "15000");
    // The amount of a VietQR is its field 54.
    t.match((await session.get(`/top-ups/${id}`)).body.qr_text, /540515000/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Lưu ảnh" }).click(),
    ]);
    t.equal(download.suggestedFilename(), `${code}.png`);
    const png = readFileSync(await download.path());
    t.equal(png.subarray(1, 4).toString(), "PNG");
    t.ok(png.length > 5_000, `${png.length} bytes`);
    await notify(stage.gateway, transfer({ content: code, transferAmount: 15_000 }));
    await page.getByText("Đã nhận 75.000 đ. Khóa").first().waitFor();
    await page.getByRole("link", { name: "Tạo khóa" }).waitFor();
    t.strictSame(complaints, []);
  });

  t.test("shows no discount that is switched off", async (t) => {
    const { page, session } = await stage.customer();
    const off = {
      threshold_vnd: "5",
      today_vnd: "0",
      total_vnd: "0",
      discount_bps: 0,
      active: false,
    };
    let daily: object = { ...off, discount_bps: 100 };
    await page.route("**/account/v1/promotions", (route) =>
      route.fulfill({ json: { discount_bps: 0, account_bps: 0, lifetime: off, daily } }),
    );
    await signInByForm(page, stage.url, session.email);
    for (const path of ["", "/top-up", "/money"]) {
      await page.goto(`${stage.url}/dashboard${path}`);
      await page.getByText("Giảm thêm 1% trong ngày").waitFor();
      t.equal(await page.getByText("Giảm 0%").count(), 0, path);
    }
    daily = off;
    for (const path of ["", "/top-up", "/money"]) {
      await page.goto(`${stage.url}/dashboard${path}`);
      await page.waitForLoadState("networkidle");
      t.equal(await page.getByRole("heading", { name: "Ưu đãi" }).count(), 0, path);
    }
  });

  t.test("lists older ones once for two clicks, and says if that fails", async (t) => {
    const { page, session } = await stage.customer();
    await ledgerSql(
      stage.gateway,
      `insert into topup_orders (id, account_id, code, amount, created_at, expires_at)
      select ('019ab2c4-5d6e-7f80-9a1b-' || lpad(to_hex(n), 12, '0'))::uuid, '${session.accountId}',
        'OLD' || lpad(n::text, 5, '0'), 50000000000, now() - interval '3 days', now() - interval '2 days'
      from generate_series(1, 45) n`,
    );
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/top-up`);
    const rows = page.locator("main tbody tr");
    const more = page.getByRole("button", { name: "Xem thêm" });
    await more.waitFor();
    t.equal(await rows.count(), 20);
    const older = "**/account/v1/top-ups?*before=*";
    await page.route(older, (route) => route.abort());
    await more.click();
    await page.getByRole("alert").getByText("Không kết nối được máy chủ.").waitFor();
    await page.unroute(older);
    let asked = 0;
    let goOn = () => {};
    const mayGoOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route(older, async (route) => {
      asked += 1;
      await mayGoOn;
      await route.continue();
    });
    await more.dblclick();
    goOn();
    await rows.nth(39).waitFor();
    t.equal(asked, 1);
    t.equal(await page.getByText("Không kết nối được máy chủ.").count(), 0);
    await more.click();
    await more.waitFor({ state: "hidden" });
    t.equal(new Set(await rows.allTextContents()).size, 45);
  });

  t.test("refuses an amount below the minimum, and can be cancelled", async (t) => {
    const { page, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/top-up`);
    const amount = page.getByLabel("Số tiền nạp");
    await amount.fill("49999");
    await page.getByRole("button", { name: "Tạo mã QR" }).click();
    t.equal(
      await amount.evaluate((input) => (input as HTMLInputElement).validationMessage),
      "Hãy nhập số tiền trong khoảng cho phép.",
    );
    t.equal((await session.get("/top-ups")).body.data.length, 0);
    await amount.fill("50000");
    await page.getByRole("button", { name: "Tạo mã QR" }).click();
    await page.getByRole("button", { name: "Hủy yêu cầu nạp tiền" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Hủy yêu cầu nạp tiền" }).click();
    await page.getByText("Yêu cầu nạp tiền này đã bị hủy.").first().waitFor();
  });
});
