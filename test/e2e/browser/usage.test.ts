import { readFileSync } from "node:fs";
import t from "tap";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { showCustomer } from "../../plugins/dashboard/show-customer.ts";
import { archiveMonth } from "../../support/archived-month.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { type Stage, startStage, type Visitor } from "./stage.ts";

t.test("the usage page in a browser", async (t) => {
  let stage: Stage;
  let email: string;
  t.before(async () => {
    stage = await startStage({ plugins: { topup: topupSettings() } });
    email = (await showCustomer(stage)).session.email;
  });
  t.teardown(() => stage.close());

  async function open(): Promise<Visitor> {
    const visitor = await stage.visitor({ acceptDownloads: true });
    await signInByForm(visitor.page, stage.url, email);
    await visitor.page.goto(`${stage.url}/dashboard/usage`);
    await visitor.page.locator(".calls tbody tr").first().waitFor();
    return visitor;
  }

  t.test("charts the figures of the table beside it", async (t) => {
    const { page, complaints } = await open();
    await page.locator(".chart canvas").waitFor();
    const legend = page.locator(".legend li");
    t.equal(await legend.count(), 7);
    t.match((await legend.nth(1).textContent()) ?? "", /^claude-opus-5-5[\d.]+ đ$/);
    const painted = await page.locator(".chart canvas").evaluate((canvas) => {
      if (!(canvas instanceof HTMLCanvasElement)) return 0;
      const { data = [] } =
        canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? {};
      const colours = new Set<string>();
      for (let at = 0; at < data.length; at += 4) {
        if ((data[at + 3] ?? 0) > 200) colours.add(data.slice(at, at + 3).join());
      }
      return colours.size;
    });
    t.ok(painted > 6, `${painted} colours`);
    await page.getByText("Theo khóa").click({ force: true });
    await page.locator(".legend li", { hasText: "Máy chủ chính" }).waitFor();
    await page.getByText("Token", { exact: true }).click({ force: true });
    await page.getByText("Xem dạng bảng").click();
    await page.getByRole("region", { name: "Xem dạng bảng" }).locator("tbody tr").first().waitFor();
    t.strictSame(complaints, []);
  });

  t.test("says that a chart covers a year at most, and shows no old sums then", async (t) => {
    const { page } = await open();
    const totals = page.locator(".totals");
    await totals.filter({ hasText: /\d/ }).waitFor();
    await page.getByLabel("Khoảng thời gian").selectOption("own");
    await page.getByLabel("Từ ngày").fill("2024-01-01");
    await page.getByLabel("Từ ngày").blur();
    await page.getByText("Biểu đồ hiển thị tối đa một năm.").waitFor();
    t.equal(await totals.textContent(), "");
    await page.getByText("Theo khóa").click({ force: true });
    await page.getByLabel("Khoảng thời gian").selectOption("30");
    await page.locator(".chart canvas").waitFor();
    await totals.filter({ hasText: /\d/ }).waitFor();
  });

  t.test("filters calls, and pages forward and back", async (t) => {
    const { page } = await open();
    const rows = page.locator(".calls tbody tr");
    const first = await rows.first().textContent();
    await page.getByRole("button", { name: "Cũ hơn" }).click();
    await page.locator(".pager").getByText("Trang 2").waitFor();
    t.not(await rows.first().textContent(), first);
    await page.getByRole("button", { name: "Mới hơn" }).click();
    await page.locator(".pager").getByText("Trang 1").waitFor();
    t.equal(await rows.first().textContent(), first);
    // Two taps on a slow line turn one page.
    const pages = /\/usage\?.*limit=/;
    await page.route(pages, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await page.getByRole("button", { name: "Cũ hơn" }).dblclick();
    await page.locator(".pager").getByText("Trang 2").waitFor();
    const second = await rows.first().textContent();
    await page.getByRole("button", { name: "Mới hơn" }).dblclick();
    await page.locator(".pager").getByText("Trang 1").waitFor();
    t.not(second, first);
    t.equal(await rows.first().textContent(), first);
    t.equal(await page.getByRole("button", { name: "Mới hơn" }).isDisabled(), true);
    await page.unroute(pages);
    await page.getByLabel("Trạng thái").selectOption("failed");
    await page.locator(".calls .badge.bad").first().waitFor();
    await page.locator(".calls .badge.good").first().waitFor({ state: "detached" });
    await page.getByLabel("Mô hình", { exact: true }).selectOption("deepseek-v4-pro");
    await page.getByText("Không có lượt gọi nào phù hợp.").first().waitFor();
  });

  t.test("applies the status to figures, chart, list and refused calls alike", async (t) => {
    const { page, complaints } = await open();
    const totals = page.locator(".totals");
    const refused = page.locator(".refused");
    await page.getByLabel("Trạng thái").selectOption("failed");
    await totals.getByText("0 đ", { exact: true }).waitFor();
    await page.getByLabel("Trạng thái").selectOption("402");
    await page.getByText("Nếu có lượt bị từ chối").waitFor();
    await refused.getByText("37", { exact: true }).waitFor();
    await refused.getByText("1.204").waitFor({ state: "detached" });
    await page.reload();
    t.match(page.url(), /\?status=402$/);
    await refused.getByText("37", { exact: true }).waitFor();
    t.equal(await page.getByLabel("Trạng thái").inputValue(), "402");
    await page.getByLabel("Trạng thái").selectOption("ok");
    await refused.waitFor({ state: "hidden" });
    await totals.filter({ hasNotText: /^0 đ/ }).waitFor();
    t.strictSame(complaints, []);
  });

  t.test("opens a day by its bar, and a call by its row", async (t) => {
    const { page, complaints } = await open();
    const over = page.locator(".chart .u-over");
    await over.waitFor();
    const { width } = (await over.boundingBox()) ?? { width: 0 };
    await over.click({ position: { x: width - (width / 30) * 1.5, y: 200 } });
    await page.waitForURL(/\?from=(\d{4}-\d\d-\d\d)&to=\1$/);
    const from = page.getByLabel("Từ ngày");
    const day = await from.inputValue();
    await page
      .locator(".legend-day", { hasText: day.split("-").reverse().join("/") })
      .or(page.locator(".legend-day", { hasText: "Cả kỳ" }))
      .waitFor();
    await page.reload();
    t.equal(await from.inputValue(), day);
    const to = page.getByLabel("Đến ngày");
    await to.fill("2024-01-01");
    await to.blur();
    await page.getByRole("alert").getByText("“Từ ngày” đang sau “Đến ngày”.").waitFor();
    await page.locator(".totals").waitFor({ state: "hidden" });
    await page.getByLabel("Khoảng thời gian").selectOption("90");
    await page.locator(".calls tbody tr").first().waitFor();
    await page.getByText("Xem dạng bảng").click();
    await page.getByRole("columnheader", { name: "Tuần" }).waitFor();
    await page
      .getByRole("button", { name: /^\d\d\/\d\d – / })
      .first()
      .click();
    await page.waitForURL(/\?from=.*&to=/);
    await page.locator(".calls tbody tr").first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Mã lượt gọi").waitFor();
    await dialog.getByRole("button", { name: "Đóng" }).click();
    t.strictSame(complaints, []);
  });

  t.test("shows how the cost of a call with factors on its price adds up", async (t) => {
    await ledgerSql(
      stage.gateway,
      `update usage_records set unit = 'mtok', input_tokens = 1000, cache_read_tokens = 600,
        cache_write_tokens = 0, output_tokens = 50, factors = '{"cached_input": 0.1, "output": 4}',
        unit_price = 10000000000, quantity_millionths = null
      where model = 'gemini-3.5-flash'`,
    );
    const { page, complaints } = await open();
    await page.getByLabel("Mô hình", { exact: true }).selectOption("gemini-3.5-flash");
    await page.waitForURL(/model=gemini/);
    const other = page.locator(".calls tbody tr", { hasNotText: "gemini-3.5-flash" });
    await other.first().waitFor({ state: "detached" });
    const call = page.locator(".calls tbody tr", { hasText: "gemini-3.5-flash" }).first();
    const parts = / đ · 10\.000 đ \/ 1 triệu token · đọc từ bộ nhớ đệm × 0,1 · đầu ra × 4/;
    t.match(await call.locator("[title*='triệu token']").getAttribute("title"), parts);
    await call.click();
    const row = page.getByRole("dialog").locator(".sum tbody tr").first();
    t.equal(
      await row.textContent(),
      "660 token × 10.000 đ / 1 triệu token" +
        "400 đầu vào + 600 đọc từ bộ nhớ đệm × 0,1 + 50 đầu ra × 46,6 đ",
    );
    t.strictSame(complaints, []);
  });

  t.test("shows refused calls with their causes, and the names that were mapped", async (t) => {
    const { page } = await open();
    const refused = page.locator(".refused");
    const row = refused.locator("tbody tr", { hasText: "Không đủ số dư" }).first();
    t.match(await row.textContent(), /402Không đủ số dư37Máy chủ chính$/);
    t.match(await refused.textContent(), /429Vượt giới hạn của khóa API1.204/);
    t.match(await refused.textContent(), /400Trường messages2/);
    await page.getByText("Xem các lượt bị từ chối gần nhất").click();
    await refused.getByText("019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071").waitFor();
    await page.getByLabel("Mô hình", { exact: true }).selectOption("claude-opus-5-5");
    await page.getByText("bạn đã gửi claude-3-opus-latest").first().waitFor();
  });

  t.test("saves a CSV of the filtered calls", async (t) => {
    const { page } = await open();
    await page.getByLabel("Mô hình", { exact: true }).selectOption("gemini-3.5-flash");
    await page.waitForURL(/model=/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Xuất CSV" }).click(),
    ]);
    t.match(download.suggestedFilename(), /^usage-\d{4}-\d\d-\d\d\.csv$/);
    const text = readFileSync(await download.path(), "utf8");
    t.ok(text.startsWith("\ufeffcall_id;time_utc;"), text.slice(0, 60));
    const [, ...lines] = text.trimEnd().split("\r\n");
    t.ok(lines.length > 30, `${lines.length} lines`);
    for (const line of lines) t.equal(line.split(";")[4], "gemini-3.5-flash");
    t.ok(lines.some((line) => line.includes("Máy chủ chính")));
  });

  t.test("says which calls are archived, in the list", async (t) => {
    const at = new Date(Date.now() - 200 * 86_400_000);
    const end = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)).toISOString();
    const [year, month] = end.split("-");
    await ledgerSql(
      stage.gateway,
      `select make_usage_partition('${at.toISOString()}');
      insert into usage_records select '01900000-0000-7000-8000-000000000001',
        '${at.toISOString()}', id, id, '/v1/messages', 'old', null, 'anthropic', 9, 0, 0, 9, 0, 0,
        1000000, 0, 0, 9, 9, 200, true, 'complete', false, 'mtok', '0123abcd', 36000000000
      from accounts where email = '${email}'`,
    );
    await archiveMonth(stage.gateway, at.toISOString().slice(0, 7));
    const { page } = await open();
    const text = `Các lượt gọi trước 01/${month}/${year} 07:00 đã được lưu trữ`;
    t.equal(await page.getByText(text).count(), 0, "not in the last 30 days");
    await page.getByLabel("Khoảng thời gian").selectOption("365");
    await page.getByText(text).waitFor();
    await page.getByLabel("Khoảng thời gian").selectOption("7");
    await page.getByText(text).first().waitFor({ state: "detached" });
  });
});
