import { devices } from "playwright-core";
import t from "tap";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { credit } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { startStage } from "./stage.ts";

t.test("browsers that lack what Chromium has, and lines that fail", async (t) => {
  const stage = await startStage({ plugins: { topup: topupSettings() } });
  t.teardown(() => stage.close());

  async function signedIn(options = {}) {
    const customer = await stage.customer(options);
    await signInByForm(customer.page, stage.url, customer.session.email);
    return customer;
  }

  t.test("a key that the browser does not copy is shown, and not said to be copied", async (t) => {
    const { page, session } = await signedIn();
    const { key } = (await session.post("/keys", { name: "laptop" })).body;
    await page.addInitScript(() => {
      const refused = () => Promise.reject(new DOMException("refused", "NotAllowedError"));
      Object.assign(navigator.clipboard, { write: refused, writeText: refused });
      document.execCommand = () => false;
    });
    await page.goto(`${stage.url}/dashboard/keys`);
    const copy = page.getByRole("button", { name: "Sao chép khóa API laptop" });
    await copy.click();
    const dialog = page.getByRole("dialog", { name: "Sao chép khóa API laptop" });
    t.equal(await dialog.locator(".secret").textContent(), key);
    await dialog.getByRole("button", { name: "Đóng" }).click();
    t.equal(await copy.textContent(), "Sao chép");
  });

  t.test("a key is copied within the click, as Safari demands", async (t) => {
    const { page, session } = await signedIn();
    await session.post("/keys", { name: "laptop" });
    await page.goto(`${stage.url}/dashboard/keys`);
    const copy = page.getByRole("button", { name: "Sao chép khóa API laptop" });
    const isWithin = await copy.evaluate(async (button) => {
      let written = false;
      navigator.clipboard.write = async () => {
        written = true;
      };
      (button as HTMLButtonElement).click();
      return written;
    });
    t.ok(isWithin);
  });

  t.test("a key is copied by a browser that has no ClipboardItem", async (t) => {
    const { page, session } = await signedIn();
    const { key } = (await session.post("/keys", { name: "laptop" })).body;
    await page.addInitScript(() => {
      Reflect.deleteProperty(window, "ClipboardItem");
      document.execCommand = () => false;
    });
    await page.goto(`${stage.url}/dashboard/keys`);
    await page.getByRole("button", { name: "Sao chép khóa API laptop" }).click();
    await page.getByText("Đã chép").first().waitFor();
    t.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
  });

  async function chatting(options = {}) {
    const customer = await signedIn(options);
    await credit(stage.gateway, customer.session.accountId, 50_000);
    await customer.session.post("/keys", { name: "laptop" });
    return customer;
  }

  t.test("a reply with a link is shown by iOS 16, which has no URL.canParse", async () => {
    const { page } = await chatting();
    await page.addInitScript(() => Reflect.deleteProperty(URL, "canParse"));
    await page.goto(`${stage.url}/dashboard/chat`);
    await page
      .getByPlaceholder("Tin nhắn của bạn")
      .fill(prompt({ text: "see [this](https://example.com/) and [that](http://)" }));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "this" }).waitFor();
    await page.getByRole("button", { name: "Gửi" }).waitFor();
  });

  t.test("a message stays if the scripts that show it do not come", async (t) => {
    const { page } = await chatting();
    await page.route("**/chat/message-view.js", (route) => route.abort());
    await page.goto(`${stage.url}/dashboard/chat`);
    const text = page.getByPlaceholder("Tin nhắn của bạn");
    await text.fill(prompt({ text: "never said" }));
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Một phần của trang chưa tải được.").waitFor();
    t.match(await text.inputValue(), "never said");
    await page.unroute("**/chat/message-view.js");
    await page.getByRole("alert").getByRole("button", { name: "Thử lại" }).click();
    await page.getByText("Hỏi bằng bất kỳ ngôn ngữ nào.").waitFor();
    await text.fill(prompt({ text: "said now" }));
    await page.keyboard.press("Enter");
    await page.locator(".turn.assistant", { hasText: "said now" }).waitFor();
  });

  t.test("a chart is drawn once its script can be loaded", async () => {
    const { page } = await chatting();
    await page.route("**/vendor/uplot.js", (route) => route.abort());
    await page.goto(`${stage.url}/dashboard/chat`);
    await page.getByPlaceholder("Tin nhắn của bạn").fill(prompt({ text: "hello" }));
    await page.keyboard.press("Enter");
    await page.locator(".cost strong").waitFor();
    await page.getByRole("link", { name: "Sử dụng" }).first().click();
    await page.getByText("Một phần của trang chưa tải được.").waitFor();
    await page.unroute("**/vendor/uplot.js");
    await page.getByRole("button", { name: "Thử lại" }).click();
    await page.locator(".chart canvas").waitFor();
  });

  for (const path of ["/dashboard", "/console"]) {
    t.test(`${path} offers to load again if a script of its start does not come`, async () => {
      const { page } = await stage.visitor();
      await page.route("**/text-vi.js", (route) => route.abort());
      await page.goto(stage.url + path);
      const again = page.getByRole("link", { name: "Thử lại" });
      await again.waitFor();
      await page.unroute("**/text-vi.js");
      await again.click();
      await page.getByRole("heading", { name: "Đăng nhập" }).waitFor();
    });
  }

  t.test("a mailed link says to reload, which keeps its secret, instead of a link", async (t) => {
    const { page } = await stage.visitor();
    await page.route("**/main.js", (route) => route.abort());
    for (const path of ["/dashboard/reset", "/dashboard/verify", "/console/join"]) {
      await page.goto(`${stage.url}${path}#token=secret`);
      await page.getByText("Hãy tải lại trang.").waitFor();
      t.equal(await page.getByRole("link", { name: "Thử lại" }).count(), 0);
    }
  });

  t.test("a mailed link is whole after a click that asks again", async (t) => {
    const { page } = await stage.visitor();
    // Never comes.
    await page.route("**/pages/reset.js", () => {});
    await page.goto(`${stage.url}/dashboard/reset#token=secret`, { waitUntil: "commit" });
    await page.locator("main .waiting a").dispatchEvent("click");
    t.match(page.url(), "#token=secret");
  });

  t.test("a page whose script does not come can be asked for again", async () => {
    const { page } = await signedIn();
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await page.route("**/pages/keys.js", (route) => route.abort());
    await page.goto(`${stage.url}/dashboard/keys`);
    await page.getByText("Một phần của trang chưa tải được.").waitFor();
    await page.unroute("**/pages/keys.js");
    await page.getByRole("button", { name: "Thử lại" }).click();
    await page.getByRole("button", { name: "Tạo khóa API" }).first().waitFor();
  });

  t.test("a language that cannot be saved is shown nevertheless", async () => {
    const { page } = await signedIn();
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await page.route("**/account/v1/me", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ status: 500, json: {} })
        : route.continue(),
    );
    await page.locator(".account-menu").click();
    await page.getByRole("button", { name: "English" }).click();
    await page.locator(".toast").waitFor();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  t.test("a language whose texts do not come is there after a reload", async () => {
    const { page } = await signedIn();
    await page.route("**/text-en.js", (route) => route.abort());
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await page.locator(".account-menu").click();
    await page.getByRole("button", { name: "English" }).click();
    await page.locator(".toast", { hasText: "Hãy tải lại trang." }).waitFor();
    await page.unroute("**/text-en.js");
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  async function orderShown(options = {}) {
    const customer = await signedIn(options);
    const { id } = (await customer.session.post("/top-ups", { amount_vnd: 100_000 })).body;
    return { ...customer, path: `${stage.url}/dashboard/top-up/${id}` };
  }

  t.test("an iPhone shares the picture of a QR code, which its downloads hide", async (t) => {
    const { page, path } = await orderShown(devices["iPhone 13"]);
    await page.addInitScript(() => {
      navigator.canShare = () => true;
      navigator.share = async ({ files = [] } = {}) => {
        document.title = files.map(({ name, type }) => `${name} ${type}`).join();
      };
    });
    await page.goto(path);
    await page.getByRole("button", { name: "Lưu ảnh QR" }).click();
    await page.waitForFunction(() => document.title.includes("image/png"));
    t.match(await page.title(), /^\w+\.png image\/png$/);
  });

  t.test("an iPhone that refuses to share downloads the picture", async (t) => {
    const { page, path } = await orderShown(devices["iPhone 13"]);
    await page.addInitScript(() => {
      navigator.canShare = () => true;
      navigator.share = () => Promise.reject(new DOMException("refused", "NotAllowedError"));
    });
    await page.goto(path);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Lưu ảnh QR" }).click();
    t.match((await saved).suggestedFilename(), /^\w+\.png$/);
  });

  t.test("says that a QR code could not be saved", async () => {
    const { page, path } = await orderShown();
    await page.addInitScript(() => {
      HTMLCanvasElement.prototype.toBlob = (done) => done(null);
    });
    await page.goto(path);
    await page.getByRole("button", { name: "Lưu ảnh QR" }).click();
    await page.locator(".toast", { hasText: "Đã có lỗi xảy ra." }).waitFor();
  });

  t.test("a cancellation that fails leaves the QR code", async () => {
    const { page, path } = await orderShown();
    await page.route("**/top-ups/*/cancel", (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto(path);
    await page.getByRole("button", { name: "Hủy yêu cầu nạp tiền" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Hủy yêu cầu nạp tiền" }).click();
    await page.getByText("Hệ thống gặp lỗi.").first().waitFor();
    await page.locator("img.qr").waitFor();
  });

  t.test("says why a file is not exported", async (t) => {
    const { page } = await signedIn();
    const json = { error: { code: "too_many_exports", message: "Wait." } };
    await page.route("**/usage.csv?*", (route) => route.fulfill({ status: 429, json }));
    await page.goto(`${stage.url}/dashboard/usage`);
    await page.getByRole("link", { name: "Xuất CSV" }).click();
    await page.locator(".toast", { hasText: "Có quá nhiều tệp đang được xuất." }).waitFor();
    const saved = page.waitForEvent("download");
    await page.goto(`${stage.url}/dashboard/money`);
    const link = page.getByRole("link", { name: "Xuất CSV" });
    await link.click();
    t.match((await saved).suggestedFilename(), /^money-/);
    const asked: string[] = [];
    await page.route("**/money.csv?*", async (route) => {
      asked.push(route.request().method());
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.abort();
    });
    await link.dispatchEvent("click");
    await link.dispatchEvent("click");
    await page.locator(".toast", { hasText: "Không kết nối được máy chủ." }).waitFor();
    t.strictSame(asked, ["HEAD"], "is asked for once, and not as a whole");
    t.equal(await link.getAttribute("aria-busy"), null);
  });
});
