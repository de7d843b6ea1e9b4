import assert from "node:assert/strict";
import t from "tap";
import { admin, credit } from "../../support/admin.ts";
import { BrowserSession, newEmail, ownAddress, PASSWORD } from "../../support/browser-session.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { until } from "../../support/until.ts";
import { startStage } from "./stage.ts";

t.test("states that few customers see", async (t) => {
  const stage = await startStage({ plugins: { dashboard: { support: "help@example.com" } } });
  t.teardown(() => stage.close());

  async function signedIn() {
    const customer = await stage.customer();
    await signInByForm(customer.page, stage.url, customer.session.email);
    await customer.page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await customer.page.locator(".waiting").first().waitFor({ state: "detached" });
    return customer;
  }

  t.test("a document asks ahead only for what its page reads", async (t) => {
    const { page } = await signedIn();
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      asked.push(pathname + search);
    });
    for (const path of [
      "/usage",
      "/keys",
      "/money",
      "/chat",
      "/models",
      "/how-to",
      "/account",
      "",
    ]) {
      const { link = "" } = (await page.request.get(`${stage.url}/dashboard${path}`)).headers();
      const ahead = Array.from(link.matchAll(/<([^>]+)>/g), ([, address = ""]) => address);
      t.equal(ahead.shift(), "/account/v1/me");
      asked.length = 0;
      await page.evaluate((address) => {
        history.pushState(null, "", address);
        dispatchEvent(new PopStateEvent("popstate"));
      }, `/dashboard${path}`);
      const open = () => ahead.filter((address) => !asked.includes(address));
      await until(
        () => `${path} reads ${open()}`,
        () => open().length === 0,
      );
    }
  });

  t.test("a suspended customer learns whom to ask, and can leave", async (t) => {
    const { page, session } = await signedIn();
    const suspend = { reason: "test" };
    await admin(stage.gateway, "POST", `/accounts/${session.accountId}/suspend`, suspend);
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await page.getByRole("heading", { name: "Tài khoản của bạn đang bị tạm ngưng" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Tài khoản của bạn đang bị tạm ngưng" }).waitFor();
    const support = page.getByRole("link", { name: "help@example.com" });
    t.equal(await support.getAttribute("href"), "mailto:help@example.com");
    await page.getByRole("button", { name: "Đăng xuất" }).click();
    await page.getByLabel("Mật khẩu").waitFor();
    t.equal((await page.request.get(`${stage.url}/account/v1/me`)).status(), 401);
  });

  t.test("a sign-out is said to be done only once the session has ended", async (t) => {
    const { page, session } = await signedIn();
    const signOut = page.getByRole("button", { name: "Đăng xuất" });
    await page.locator(".account-menu summary").click();
    await page.route("**/account/v1/sign-out", (route) => route.abort());
    await signOut.click();
    await page.locator(".toast", { hasText: "Không kết nối được máy chủ." }).waitFor();
    t.equal((await page.request.get(`${stage.url}/account/v1/me`)).status(), 200);
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await page.unroute("**/account/v1/sign-out");

    // Another tab has signed in again since: this one has the token of a session before.
    const other = await page.context().newPage();
    const cookies = await page.context().cookies();
    const ofSession = cookies.find(({ name }) => name.endsWith("_session"));
    assert.ok(ofSession, JSON.stringify(cookies));
    await page.context().clearCookies({ name: ofSession.name });
    await page.context().clearCookies({ name: "tollgate_signed_in" });
    await signInByForm(other, stage.url, session.email);
    await signOut.click();
    await page.getByLabel("Mật khẩu").waitFor();
    t.equal((await page.request.get(`${stage.url}/account/v1/me`)).status(), 401);
  });

  t.test("a balance that lasts a day at the pace of the first one is low", async () => {
    const { page } = await signedIn();
    const today = new Date(Date.now() + 7 * 3_600_000).toISOString().slice(0, 10);
    const figures = { calls: 1, input_tokens: 1, output_tokens: 1, cost_vnd: "30000" };
    const sums = { data: [{ day: today, ...figures }], total: figures, cut: false };
    await page.route("**/account/v1/usage/summary*", (route) => route.fulfill({ json: sums }));
    const money = { balance_vnd: "20000", held_vnd: "0", available_vnd: "20000", pending_vnd: "0" };
    await page.route("**/account/v1/wallet", (route) => route.fulfill({ json: money }));
    await page.reload();
    await page.getByText("30.000 đ").first().waitFor();
    await page.getByText("< 1 ngày").waitFor();
    await page.locator(".notice.info", { hasText: "tuần" }).waitFor();
  });

  t.test("maintenance shows the operator's words on every page, until it ends", async (t) => {
    const { page } = await signedIn();
    const message = "Bảo trì đến 15:00";
    await admin(stage.gateway, "POST", "/maintenance", { enabled: true, message });
    t.teardown(() => admin(stage.gateway, "POST", "/maintenance", { enabled: false }));
    for (const path of ["", "/chat", "/models"]) {
      await page.goto(`${stage.url}/dashboard${path}`);
      await page.getByRole("status").getByText(message).waitFor();
    }
    await admin(stage.gateway, "POST", "/maintenance", { enabled: true, message: null });
    await page.reload();
    await page.getByRole("status").getByText("Dịch vụ đang bảo trì").waitFor();
    await admin(stage.gateway, "POST", "/maintenance", { enabled: false });
    await page.reload();
    await page.getByRole("heading", { name: "Mô hình" }).waitFor();
    t.equal(await page.getByText("Dịch vụ đang bảo trì").count(), 0);
  });

  t.test("a page that is opened offline comes by itself when the network is back", async () => {
    const { page } = await signedIn();
    await page.context().setOffline(true);
    await page.getByText("Bạn đang ngoại tuyến").waitFor();
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await page.getByText("Trang tự tải khi có mạng trở lại.").waitFor();
    await page.context().setOffline(false);
    await page.getByRole("heading", { name: "Khóa API" }).waitFor();
    await page.getByText("Bạn đang ngoại tuyến").waitFor({ state: "detached" });
  });

  t.test("a page that fails can be asked for again, and a slow one says that it is", async (t) => {
    const { page } = await stage.visitor();
    const catalogue = "**/account/v1/catalogue";
    await page.route(catalogue, (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto(`${stage.url}/dashboard/models`);
    await page.locator(".notice.bad", { hasText: "Hệ thống gặp lỗi." }).waitFor();
    await page.unroute(catalogue);
    await page.getByRole("button", { name: "Thử lại" }).click();
    await page.locator("summary", { hasText: "Anthropic" }).waitFor();

    let goOn = () => {};
    await page.route(catalogue, (route) => {
      goOn = () => void route.continue();
    });
    await page.getByRole("link", { name: "Hướng dẫn" }).click();
    t.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Hướng dẫn");
    await page.getByText("Trang tải lâu hơn bình thường.").waitFor();
    goOn();
    await page.getByRole("radio", { name: "Claude Code" }).waitFor();
  });

  t.test("an ended session says so, and leads back to the page", async (t) => {
    const { page, session } = await signedIn();
    const { data } = (await session.get("/sessions")).body;
    for (const { id, current } of data)
      if (!current) await session.send("DELETE", `/sessions/${id}`);
    let refuseLate = () => {};
    const mayRefuse = new Promise<void>((resolve) => {
      refuseLate = resolve;
    });
    let refused = 0;
    await page.route("**/account/v1/wallet", async (route) => {
      const response = await route.fetch();
      if (response.status() === 401) {
        await mayRefuse;
        refused += 1;
      }
      await route.fulfill({ response });
    });
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await page.getByText("Phiên đăng nhập đã kết thúc.").waitFor();
    await page.getByLabel("Email").fill(session.email);
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Khóa API" }).waitFor();
    t.ok(page.url().endsWith("/keys"));
    const late = page.waitForResponse(
      (response) => response.url().endsWith("/wallet") && response.status() === 401,
    );
    refuseLate();
    await (await late).finished();
    await page.getByRole("link", { name: "Tổng quan" }).first().click();
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    t.ok(refused > 0, "the balance was refused after the customer had signed in again");
    await page.locator(".account-menu summary").click();
    await page.getByRole("button", { name: "Đăng xuất" }).first().click();
    await page.getByLabel("Email").waitFor();
    t.equal(await page.getByText("Phiên đăng nhập đã kết thúc.").count(), 0);
  });

  t.test("a key that is shown goes with the page that shows it", async (t) => {
    const { page, session } = await signedIn();
    await session.post("/keys", { name: "laptop" });
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await page.getByRole("button", { name: "Xem khóa API laptop" }).click();
    await page.locator("[data-secret]").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    t.equal(await page.getByRole("dialog").count(), 0);
    await page.goForward();
    const revoke = page.getByRole("button", { name: "Thu hồi khóa API laptop" });
    await revoke.click();
    await page.getByRole("dialog").waitFor();
    await page.goBack();
    await page.goForward();
    await revoke.waitFor();
    t.equal(await page.getByRole("dialog").count(), 0, "nothing is revoked by leaving");
    t.equal((await session.get("/keys")).body.data[0].status, "active");
  });

  t.test("the next customer of a browser never sees the last one's balance", async (t) => {
    const { page, session } = await signedIn();
    const next = await stage.customer();
    await credit(stage.gateway, session.accountId, 123_456);
    const replies: (() => void)[] = [];
    let isHeld = false;
    await page.route("**/account/v1/wallet", async (route) => {
      const response = await route.fetch();
      if (isHeld) await new Promise<void>((resolve) => replies.push(resolve));
      await route.fulfill({ response });
    });
    const balance = page.locator(".wallet strong").first();
    await page.reload();
    await balance.filter({ hasText: "123.456" }).waitFor();
    isHeld = true;
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await until("its balance is read again", () => replies.length === 1);
    await page.locator(".account-menu summary").click();
    await page.getByRole("button", { name: "Đăng xuất" }).first().click();
    await page.getByLabel("Email").fill(next.session.email);
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Tổng quan" }).waitFor();
    await until("the next one's balance is read", () => replies.length > 1);
    t.equal((await balance.textContent())?.trim(), "");
    const late = page.waitForResponse((response) => response.url().endsWith("/wallet"));
    replies.shift()?.();
    await (await late).finished();
    await page.getByRole("link", { name: "Khóa API" }).first().click();
    await page.getByRole("heading", { name: "Khóa API" }).waitFor();
    t.equal((await balance.textContent())?.trim(), "");
    isHeld = false;
    for (const reply of replies) reply();
  });

  t.test("a mailed link works in another language, and after a failure", async (t) => {
    const { page, session } = await stage.customer();
    await session.post("/password/forgot", { email: session.email });
    const keys = "**/account/v1/password/reset/keys";
    await page.route(keys, (route) => route.abort());
    await page.goto(await stage.mailServer.linkTo(session.email, "reset"));
    await page.getByText("Không kết nối được máy chủ.").waitFor();
    await page.unroute(keys);
    await page.getByRole("button", { name: "Thử lại" }).click();
    await page.getByLabel("Mật khẩu mới").waitFor();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByLabel("New password").fill("another long password");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Your password has been changed.").waitFor();
    t.equal((await session.signIn(session.email, "another long password")).status, 200);

    const { page: other } = await stage.visitor();
    const visitor = new BrowserSession(stage.gateway);
    visitor.headers = { "x-forwarded-for": ownAddress() };
    const email = newEmail();
    await visitor.post("/sign-up", { email, password: PASSWORD, agreed: true });
    await other.goto(await stage.mailServer.linkTo(email, "verify"));
    await other.getByLabel("Mật khẩu").waitFor();
    await other.getByRole("button", { name: "English" }).click();
    await other.getByLabel("Password").fill(PASSWORD);
    await other.getByRole("button", { name: "Verify and sign in" }).click();
    await other.getByText("Giờ bạn có thể tạo khóa API").waitFor();
    t.equal((await visitor.signIn(email)).status, 200);
  });

  t.test("a reset keeps or revokes keys only as chosen, and its link works once", async (t) => {
    const { page, session } = await stage.customer();
    const { key } = (await session.post("/keys", { name: "máy chủ" })).body;
    const { id } = (await session.get("/keys")).body.data[0];
    assert.ok(key && id);
    await session.post("/password/forgot", { email: session.email });
    const link = await stage.mailServer.linkTo(session.email, "reset");
    await page.goto(link);
    await page.getByText(/^máy chủ \(tg-.*…\): chưa dùng/).waitFor();
    const keep = page.getByLabel("Giữ lại: tôi chỉ quên mật khẩu");
    const revoke = page.getByLabel("Thu hồi tất cả (1)");
    t.strictSame([await keep.isChecked(), await revoke.isChecked()], [false, false]);
    await page.getByLabel("Mật khẩu mới").fill("another long password");
    await page.getByRole("button", { name: "Đặt mật khẩu" }).click();
    t.ok(await keep.evaluate((input) => (input as HTMLInputElement).validity.valueMissing));
    await keep.check();
    await page.getByRole("button", { name: "Đặt mật khẩu" }).click();
    await page.getByText("Đã đổi mật khẩu").waitFor();
    const { data } = await admin(stage.gateway, "GET", `/accounts/${session.accountId}`).then(
      ({ body }) => ({ data: body["keys"] as { status: string }[] }),
    );
    t.strictSame(
      data.map(({ status }) => status),
      ["active"],
    );

    await page.goto("about:blank");
    await page.goto(link);
    await page.getByText("Liên kết đã hết hạn hoặc đã được sử dụng.").waitFor();
    t.equal(await page.getByLabel("Mật khẩu mới").count(), 0);
    await page.getByRole("link", { name: "Gửi liên kết mới" }).click();
    await page.getByRole("button", { name: "Gửi liên kết" }).waitFor();
  });
});
