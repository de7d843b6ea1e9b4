import assert from "node:assert/strict";
import t from "tap";
import { codeAt } from "../../../plugins/sign-in-parts/totp.ts";
import { admin, committedWallet, credit } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { PASSWORD } from "../../support/browser-session.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { bodies, paths, post, reload } from "../../support/requests.ts";
import { findings, sticksOut } from "./inspect.ts";
import { startStage } from "./stage.ts";

t.test("a customer in a browser", async (t) => {
  const stage = await startStage({
    plugins: { accounts: { terms: "Hãy tử tế.", privacy: "https://example.com/privacy" } },
  });
  t.teardown(() => stage.close());

  t.test(
    "signs up, verifies the address by mail, creates a key and makes a first call",
    async (t) => {
      const { page, complaints } = await stage.visitor();
      const email = "an.nguyen@tollgate.test";
      await page.goto(`${stage.url}/dashboard`);
      await page.getByRole("link", { name: "Tạo tài khoản" }).click();
      const submit = page.getByRole("button", { name: "Tạo tài khoản" });
      const complaint = (name: string) =>
        page.getByLabel(name).evaluate((input) => (input as HTMLInputElement).validationMessage);
      await submit.click();
      t.equal(await complaint("Email"), "Hãy điền mục này.");
      await page.getByLabel("Email").fill("an.nguyen");
      await page.getByLabel("Mật khẩu").fill("short");
      await submit.click();
      t.match(await complaint("Email"), "ten@example.com");
      t.equal(await complaint("Mật khẩu"), "Hãy nhập ít nhất 10 ký tự.");
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Mật khẩu").fill(PASSWORD);
      await page.getByRole("button", { name: "Hiện" }).click();
      t.equal(await page.getByLabel("Mật khẩu").getAttribute("type"), "text");
      await page.getByRole("button", { name: "Ẩn" }).click();
      t.equal(await page.getByLabel("Mật khẩu").getAttribute("type"), "password");
      await submit.click();
      await page.getByText("Tôi đồng ý với điều khoản sử dụng và chính sách bảo mật").waitFor();
      const terms = page.getByRole("link", { name: "điều khoản sử dụng" });
      t.equal(await terms.getAttribute("href"), "/terms");
      t.equal(await page.getByText("Chúng tôi đã gửi email").count(), 0);
      await page.getByRole("checkbox").check();
      await page.getByRole("button", { name: "Tạo tài khoản" }).click();
      await page.getByText(`Chúng tôi đã gửi email tới ${email}`).waitFor();

      // Sign-in fails until the address is verified, and the mail can be sent again.
      await page.getByRole("button", { name: "Gửi lại email" }).click();
      await stage.mailServer.mailsTo(email, 2);
      await page.getByRole("link", { name: "Đăng nhập" }).click();
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Mật khẩu").fill(PASSWORD);
      await page.getByRole("button", { name: "Đăng nhập" }).click();
      await page.getByRole("alert").locator(".notice").waitFor();

      const mails = await stage.mailServer.mailsTo(email);
      const mail = mails.at(1);
      const link = /https?:\/\/\S+\/dashboard\/verify#token=[\w-]+/.exec(mail?.text ?? "")?.[0];
      assert.ok(link, mail?.text);
      await page.goto(link);
      await page.getByLabel("Mật khẩu").fill("not of the sign-up");
      t.ok(!page.url().includes("token"), "the address has no token any more");
      await page.getByRole("button", { name: "Xác minh và đăng nhập" }).click();
      await page.getByText("Đây không phải mật khẩu bạn đã chọn khi đăng ký").waitFor();
      await page.getByLabel("Mật khẩu").fill(PASSWORD);
      await page.getByRole("button", { name: "Xác minh và đăng nhập" }).click();
      await page.getByText("Giờ bạn có thể tạo khóa API").waitFor();
      t.equal(await page.getByRole("link", { name: "Đăng nhập" }).count(), 0);
      await page.getByRole("link", { name: "Tiếp tục" }).click();

      await page.getByRole("button", { name: "Tạo khóa" }).click();
      await page.getByLabel("Tên khóa").fill("laptop");
      await page.getByRole("dialog").getByRole("button", { name: "Tạo khóa" }).click();
      const shown = await page.locator("[data-secret]").textContent();
      await page.getByRole("dialog").getByRole("button", { name: "Sao chép khóa" }).click();
      const key = await page.evaluate(() => navigator.clipboard.readText());
      t.equal(key, shown);
      t.match(key, /^tg-/);
      await page.getByRole("button", { name: "Xong" }).click();

      const me = await (await page.request.get(`${stage.url}/account/v1/me`)).json();
      await credit(stage.gateway, me.id, 50_000);
      const reply = await ask(stage.url, key, "/v1/messages", bodyOf("/v1/messages"));
      t.equal(reply.status, 200, await reply.text());
      // The page reads the calls once.
      await committedWallet(stage.gateway, me.id);
      await page.getByRole("link", { name: "Tổng quan" }).click();
      await page.locator(".calls tbody tr").first().waitFor();
      t.match((await page.locator(".calls tbody").textContent()) ?? "", /claude-opus-5-5.*laptop/);
      t.match((await page.locator(".balance .figure").textContent()) ?? "", /^49\.\d{3} đ$/);
      t.strictSame(
        complaints.filter((text) => !/status of 40[13]/.test(text)),
        [],
      );
    },
  );

  t.test("copies the setup of a client with the key in it, and sees the first call", async (t) => {
    const { page, complaints, session } = await stage.customer();
    await page.goto(`${stage.url}/dashboard/how-to?client=codex&system=cmd`);
    await page.getByText("Thay <API_KEY> bằng khóa API của bạn").waitFor();
    for (const name of ["Mô tả API theo OpenAPI 3.1", "Mọi lỗi và cách xử lý"]) {
      const path = await page.getByRole("link", { name }).getAttribute("href");
      t.equal((await fetch(`${stage.url}${path}`)).status, 200, name);
    }
    await page.getByRole("main").getByRole("link", { name: "Đăng nhập" }).click();
    await page.getByLabel("Email").fill(session.email);
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    await page.keyboard.press("Enter");
    // The page that they came from, with its client.
    await page.getByRole("button", { name: "Tạo khóa" }).click();
    const lines = page.locator(".snippet pre");
    await lines.getByText(/^set "TOLLGATE_API_KEY=tg-/).waitFor();
    t.match(await lines.first().textContent(), `base_url = "${stage.url}/v1"`);
    await page.getByRole("radio", { name: "Claude Code" }).check({ force: true });
    await page.getByRole("radio", { name: "macOS, Linux" }).check({ force: true });
    t.ok(page.url().endsWith("?client=claude-code&system=bash"));
    await page.getByRole("button", { name: "Sao chép: Claude Code, Chạy trong terminal" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const key = /ANTHROPIC_AUTH_TOKEN="(tg-[^"]+)"/.exec(copied)?.[1] ?? "";
    await page.getByText("Đang chờ lượt gọi đầu tiên của khóa API này").waitFor();

    const call = () => ask(stage.url, key, "/v1/messages", bodyOf("/v1/messages"));
    t.equal((await call()).status, 402);
    await page.locator(".notice.bad", { hasText: "bị từ chối: 402, Không đủ số dư" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Nạp tiền" }).waitFor();
    await credit(stage.gateway, session.accountId, 50_000);
    t.equal((await call()).status, 200);
    await page.locator(".notice.good", { hasText: "Đã kết nối: claude-opus-5-5" }).waitFor();
    t.strictSame(complaints, []);
  });

  t.test("sees that a key's budget refused the first call, and the page to raise it", async (t) => {
    const { page, session } = await stage.customer();
    await credit(stage.gateway, session.accountId, 50_000);
    const { key } = (await session.post("/keys", { name: "a", limits: { day_vnd: "1" } })).body;
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/how-to`);
    await page.getByText("Đang chờ lượt gọi đầu tiên của khóa API này").waitFor();
    t.equal((await ask(stage.url, key, "/v1/messages", bodyOf("/v1/messages"))).status, 402);
    const refused = page.locator(".notice.bad", { hasText: "402, Hết ngân sách của khóa API" });
    await refused.getByRole("link", { name: "Khóa API" }).waitFor();
    t.equal(await refused.getByRole("link").count(), 1);
  });

  t.test("signs in with the keyboard alone, and skips to the content", async (t) => {
    const { page, complaints, session } = await stage.customer();
    await page.goto(`${stage.url}/dashboard/usage`);
    await page.getByRole("heading", { name: "Đăng nhập" }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("name"));
    for (let presses = 0; (await focused()) !== "email"; presses += 1) {
      t.ok(presses < 20, "the tab key moves to the e-mail field");
      await page.keyboard.press("Tab");
    }
    await page.keyboard.type(session.email);
    await page.keyboard.press("Tab");
    t.equal(await focused(), "password");
    await page.keyboard.type("wrong password");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Email hoặc mật khẩu không đúng").waitFor();
    t.equal(await focused(), "password");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    // The page that they wanted in the first place.
    await page.getByRole("heading", { name: "Sử dụng" }).waitFor();
    t.ok(page.url().endsWith("/dashboard/usage"));

    await page.reload();
    // The document has the heading before the page is drawn.
    const skip = page.getByRole("link", { name: "Chuyển đến nội dung chính" });
    await skip.waitFor({ state: "attached" });
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press("Tab");
    t.ok(await skip.evaluate((link) => link === document.activeElement));
    const outline = await skip.evaluate((link) => getComputedStyle(link).outlineStyle);
    t.equal(outline, "solid", "the focused control has an outline");
    await page.keyboard.press("Enter");
    t.equal(await page.evaluate(() => document.activeElement?.id), "main");
    t.strictSame(
      complaints.filter((text) => !/status of 401/.test(text)),
      [],
    );
  });

  t.test("gives the password again before a key is shown or made", async (t) => {
    const { page, session } = await stage.customer();
    const { key } = (await session.post("/keys", { name: "laptop" })).body;
    await signInByForm(page, stage.url, session.email);
    await ledgerSql(stage.gateway, "update account_sessions set proven_at = '2020-01-01'");
    await page.goto(`${stage.url}/dashboard/keys`);
    const asked = page.getByRole("dialog", { name: "Xác nhận là bạn" });
    const show = page.getByRole("button", { name: "Xem khóa API laptop" });
    await show.click();
    await asked.getByRole("button", { name: "Hủy" }).click();
    await page.getByText("Hãy nhập mật khẩu để tiếp tục.").first().waitFor();
    await show.click();
    await asked.getByLabel("Mật khẩu hiện tại").fill("a wrong password");
    await asked.getByRole("button", { name: "Tiếp tục" }).click();
    await asked.getByText("Mật khẩu hiện tại không đúng.").waitFor();
    await asked.getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await asked.getByRole("button", { name: "Tiếp tục" }).click();
    t.equal(await page.locator("[data-secret]").textContent(), key);
    await page.getByRole("button", { name: "Xong" }).click();
    await ledgerSql(stage.gateway, "update account_sessions set proven_at = '2020-01-01'");
    await page.getByRole("button", { name: "Tạo khóa" }).click();
    await page.getByLabel("Tên khóa").fill("server");
    await page.getByRole("dialog").getByRole("button", { name: "Tạo khóa" }).click();
    await asked.getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await asked.getByRole("button", { name: "Tiếp tục" }).click();
    t.match(await page.locator("[data-secret]").textContent(), /^tg-/);
  });

  t.test("gives the password again before How to connect makes the first key", async (t) => {
    const { page, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await ledgerSql(stage.gateway, "update account_sessions set proven_at = '2020-01-01'");
    await page.goto(`${stage.url}/dashboard/how-to?client=claude-code&system=bash`);
    await page.getByRole("button", { name: "Tạo khóa" }).click();
    const asked = page.getByRole("dialog", { name: "Xác nhận là bạn" });
    await asked.getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await asked.getByRole("button", { name: "Tiếp tục" }).click();
    await page.locator(".snippet pre", { hasText: 'ANTHROPIC_AUTH_TOKEN="tg-' }).waitFor();
    t.equal((await session.get("/keys")).body.data.length, 1);
  });

  t.test("is shown only the models of a key", async (t) => {
    const { page, session } = await stage.customer();
    await session.post("/keys", { name: "laptop", limits: { models: ["gpt-*"] } });
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/how-to?client=claude-code&system=bash`);
    await page.locator(".snippet pre", { hasText: 'ANTHROPIC_AUTH_TOKEN="tg-' }).waitFor();
    const ids = await page.getByLabel("Mô hình").locator("option").allTextContents();
    t.ok(ids.length > 0 && ids.every((id) => id.startsWith("gpt-")), String(ids));
    t.notMatch(await page.locator(".snippet").first().textContent(), /claude-haiku/);
  });

  t.test("is asked once for the password of How to connect, and again by a button", async (t) => {
    const { page, session } = await stage.customer();
    for (const name of ["laptop", "server"]) await session.post("/keys", { name });
    await signInByForm(page, stage.url, session.email);
    await ledgerSql(stage.gateway, "update account_sessions set proven_at = '2020-01-01'");
    await page.goto(`${stage.url}/dashboard/how-to?client=claude-code&system=bash`);
    const asked = page.getByRole("dialog", { name: "Xác nhận là bạn" });
    await asked.getByRole("button", { name: "Hủy" }).click();
    for (const name of ["PowerShell", "macOS, Linux"]) {
      await page.getByRole("radio", { name }).check({ force: true });
      await page.getByText("Thay <API_KEY> bằng khóa API của bạn").waitFor();
    }
    t.equal(await asked.count(), 0);
    await page.getByRole("button", { name: "Điền khóa API của tôi" }).click();
    await asked.getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await asked.getByRole("button", { name: "Tiếp tục" }).click();
    await page.locator(".snippet pre", { hasText: 'ANTHROPIC_AUTH_TOKEN="tg-' }).waitFor();
    const fillIn = page.getByRole("button", { name: "Điền khóa API của tôi" });
    t.equal(await fillIn.count(), 0);

    await ledgerSql(stage.gateway, "update account_sessions set proven_at = '2020-01-01'");
    const key = page.locator("main select").first();
    await key.selectOption({ index: 1 });
    await asked.getByRole("button", { name: "Hủy" }).click();
    await fillIn.waitFor();
    await key.selectOption({ index: 0 });
    await page.locator(".snippet pre", { hasText: 'ANTHROPIC_AUTH_TOKEN="tg-' }).waitFor();
    t.equal(await fillIn.count(), 0, "a key that was shown is known");
  });

  t.test("finds a sign-in form that no link has filled in", async (t) => {
    for (const email of ["thief@tollgate.test", "demo@tollgate.local"]) {
      const { page } = await stage.visitor();
      const given = new URLSearchParams({ email, password: PASSWORD });
      await page.goto(`${stage.url}/dashboard/sign-in#${given}`);
      t.equal(await page.getByLabel("Email").inputValue(), "", email);
      t.equal(await page.getByLabel("Mật khẩu").inputValue(), "", email);
    }
  });

  t.test("resets a forgotten password by mail, which ends every session", async (t) => {
    const { page, session } = await stage.customer();
    await session.post("/keys", { name: "laptop" });
    await page.goto(`${stage.url}/dashboard/sign-in`);
    await page.getByRole("link", { name: "Quên mật khẩu?" }).click();
    await page.getByLabel("Email").fill(session.email);
    await page.getByRole("button", { name: "Gửi liên kết" }).click();
    await page.getByText("chúng tôi đã gửi liên kết tới địa chỉ này").waitFor();
    const link = await stage.mailServer.linkTo(session.email, "reset");
    await page.goto(link);
    await page.getByLabel("Mật khẩu mới").fill("another long password");
    await page.getByLabel("Thu hồi tất cả (1)").check();
    await page.getByRole("button", { name: "Đặt mật khẩu" }).click();
    await page.getByText("Đã đổi mật khẩu").waitFor();
    await page.getByText("Đã thu hồi 1 khóa API").waitFor();
    t.equal((await session.get("/me")).status, 401);
    t.equal((await session.signIn(session.email, "another long password")).status, 200);
  });

  t.test("switches on a second factor, and signs in with a code", async (t) => {
    const { page, complaints, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/account`);
    await page.getByRole("button", { name: "Bật", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Tiếp tục" }).click();
    const qr = dialog.getByAltText("Mã QR cho ứng dụng xác thực");
    await qr.waitFor();
    t.ok(await qr.evaluate((image) => image instanceof HTMLImageElement && image.naturalWidth > 0));
    const shown = await dialog.locator("[data-secret]").textContent();
    const secret = shown?.replaceAll(" ", "") ?? "";
    t.match(secret, /^[A-Z2-7]{32}$/);
    const codeOf = (aside: number) => codeAt(secret, Math.floor(Date.now() / 30_000) + aside);
    await dialog.getByLabel("Mã xác thực").fill(codeOf(0));
    await dialog.getByRole("button", { name: "Bật" }).click();
    const codes = (await page.locator("[data-codes]").textContent())?.split("\n") ?? [];
    t.equal(codes.length, 10);
    await dialog.getByRole("button", { name: "Xong" }).click();
    await page.getByText("Số mã khôi phục chưa dùng: 10").waitFor();

    const { page: other, complaints: others } = await stage.visitor();
    await other.goto(`${stage.url}/dashboard/sign-in`);
    await other.getByLabel("Email").fill(session.email);
    await other.getByLabel("Mật khẩu").fill(PASSWORD);
    await other.getByRole("button", { name: "Đăng nhập" }).click();
    const code = other.getByLabel("Mã xác thực");
    await code.fill("not a code");
    t.ok(await code.evaluate((input) => input === document.activeElement));
    await other.getByRole("button", { name: "Đăng nhập" }).click();
    await other.getByRole("alert").getByText("Mã không đúng hoặc đã được dùng").waitFor();
    await code.fill(codes[0] ?? "");
    await other.getByRole("button", { name: "Đăng nhập" }).click();
    await other.getByRole("heading", { name: "Tổng quan" }).waitFor();

    await other.goto(`${stage.url}/dashboard/account`);
    await other.getByText("Số mã khôi phục chưa dùng: 9").waitFor();
    await other.getByRole("button", { name: "Tắt" }).click();
    await other.getByRole("dialog").getByLabel("Mật khẩu hiện tại").fill(PASSWORD);
    await other.getByRole("dialog").getByLabel("Mã xác thực").fill(codeOf(1));
    await other.getByRole("dialog").getByRole("button", { name: "Tắt" }).click();
    await other.getByRole("button", { name: "Bật", exact: true }).waitFor();
    t.equal((await session.signIn(session.email)).status, 200);
    const all = [...complaints, ...others];
    t.strictSame(
      all.filter((text) => !/status of 40[13]/.test(text)),
      [],
    );
  });

  t.test("creates, copies and revokes keys, and is refused the eleventh", async (t) => {
    const { page, complaints, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/keys`);
    const make = async (name: string) => {
      await page.getByRole("button", { name: "Tạo khóa" }).click();
      await page.getByLabel("Tên khóa").fill(name);
      await page.getByRole("dialog").getByRole("button", { name: "Tạo khóa" }).click();
    };
    for (let n = 1; n <= 10; n += 1) {
      await make(`key ${n}`);
      await page.getByRole("button", { name: "Xong" }).click();
    }
    await page.getByText("10/10").waitFor();
    await make("one too many");
    await page.getByText("Bạn đã đạt số khóa API đang dùng tối đa").waitFor();
    await page.keyboard.press("Escape");

    await page.reload();
    await page.getByRole("button", { name: "Sao chép khóa API key 3" }).click();
    await page.getByText("Đã chép").first().waitFor();
    const key = await page.evaluate(() => navigator.clipboard.readText());
    const models = () => fetch(`${stage.url}/v1/models`, { headers: { "x-api-key": key } });
    t.equal((await models()).status, 200, "a key copied later works");
    await page.getByRole("button", { name: "Xem khóa API key 3" }).click();
    t.equal(await page.locator("[data-secret]").textContent(), key);
    await page.getByRole("button", { name: "Xong" }).click();

    await page.getByRole("button", { name: "Thu hồi khóa API key 3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Hủy" }).click();
    t.equal((await models()).status, 200, "only asked");
    await page.getByRole("button", { name: "Thu hồi khóa API key 3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Thu hồi" }).click();
    await page.getByText("Khóa API đã thu hồi (1)").waitFor();
    await page.getByText("9/10").waitFor();
    t.equal((await models()).status, 401);
    await make("room again");
    await page.getByRole("button", { name: "Xong" }).click();
    await page.getByText("10/10").waitFor();
    t.strictSame(
      complaints.filter((text) => !/status of 409/.test(text)),
      [],
    );
  });

  t.test("gives a key limits on a phone, shows what was spent, and pauses it", async (t) => {
    const { page, complaints, session } = await stage.customer({
      viewport: { width: 360, height: 640 },
    });
    await credit(stage.gateway, session.accountId, 10_000);
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/keys`);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Tạo khóa" }).click();
    await page.getByLabel("Tên khóa").fill("An, lập trình viên");
    await dialog.getByText("Giới hạn (không bắt buộc)").click();
    await dialog.getByLabel("Ngân sách mỗi ngày").fill("20.000");
    const [lastDay, isOver] = [dialog.getByLabel("Ngày cuối cùng"), "Ngày này đã qua."];
    const create = dialog.getByRole("button", { name: "Tạo khóa" });
    await lastDay.fill("2020-01-01");
    await create.click();
    const said = await lastDay.evaluate((input: HTMLInputElement) => input.validationMessage);
    t.match(said, isOver);
    // A page that is open since yesterday lets the gateway refuse it.
    await lastDay.evaluate((input) => input.removeAttribute("min"));
    await lastDay.fill("2020-01-02");
    await create.click();
    await dialog.getByText(isOver).waitFor();
    await lastDay.fill("2999-12-31");
    t.strictSame(await findings(page), []);
    t.strictSame(await sticksOut(page), []);
    await create.click();
    const key = (await page.locator("[data-secret]").textContent()) ?? "";
    await page.getByRole("button", { name: "Xong" }).click();

    const { status, headers } = await post(stage.gateway, paths.chat, { key }, bodies.chat());
    t.equal(status, 200);
    const cost = headers.get("x-svc-cost-vnd") ?? "";
    await page.getByRole("button", { name: "Giới hạn của khóa API An" }).click();
    t.equal(await dialog.getByLabel("Ngân sách mỗi ngày").inputValue(), "20000");
    t.equal(await dialog.getByLabel("Ngày cuối cùng").inputValue(), "2999-12-31");
    await dialog.getByLabel("Ngân sách mỗi tháng").fill("300000");
    await dialog.getByLabel("Mô hình").fill("gpt-99");
    await dialog.getByRole("button", { name: "Lưu giới hạn" }).click();
    await dialog.getByText("Có mô hình không tồn tại").waitFor();
    await dialog.getByLabel("Mô hình").fill("gpt-*, claude-haiku-5-5");
    await dialog.getByLabel("Địa chỉ IP").fill("loopback");
    await dialog.getByLabel("Lượt gọi mỗi phút").fill("60");
    await dialog.getByRole("button", { name: "Lưu giới hạn" }).click();
    await page.getByText(/mô hình: gpt-\*, claude-haiku-5-5/).waitFor();
    await page.getByText("đến hết ngày 31/12/2999").waitFor();
    const today = page.locator(".key-budget", { hasText: "Hôm nay" });
    t.equal(await today.getAttribute("title"), `${cost} / 20000 đ`);
    t.match((await session.get("/keys")).body.data[0].limits, {
      day_vnd: "20000",
      month_vnd: "300000",
      addresses: ["loopback"],
      calls_per_minute: 60,
    });

    // One of its models leaves the catalogue, and another tab changes a limit while the form is open.
    await ledgerSql(
      stage.gateway,
      `update api_keys set limits = limits || '{"models":["gone-1"]}' where name like 'An, %'`,
    );
    await page.reload();
    await page.getByRole("button", { name: "Giới hạn của khóa API An" }).click();
    const [{ id }] = (await session.get("/keys")).body.data;
    t.equal((await session.post(`/keys/${id}/limits`, { day_vnd: "25000" })).status, 200);
    await dialog.getByLabel("Ngân sách mỗi tháng").fill("310000");
    await dialog.getByRole("button", { name: "Lưu giới hạn" }).click();
    await page.getByText(/310\.000/).waitFor();
    t.match((await session.get("/keys")).body.data[0].limits, {
      day_vnd: "25000",
      month_vnd: "310000",
      models: ["gone-1"],
    });
    let sent = 0;
    page.on("request", (request) => {
      if (/\/limits$/.test(request.url())) sent += 1;
    });
    await page.getByRole("button", { name: "Giới hạn của khóa API An" }).click();
    await dialog.getByRole("button", { name: "Lưu giới hạn" }).click();
    await dialog.waitFor({ state: "detached" });
    t.equal(sent, 0);
    t.equal((await session.post(`/keys/${id}/limits`, { models: [] })).status, 200);

    await page.getByRole("button", { name: "Tạm dừng khóa API An" }).click();
    await page.getByText("Đang tạm dừng").waitFor();
    t.equal((await post(stage.gateway, paths.chat, { key }, bodies.chat())).status, 403);
    // Without the messages of what was done.
    await page.reload();
    await page.getByText("Đang tạm dừng").waitFor();
    t.strictSame(await findings(page), []);
    t.strictSame(await sticksOut(page), []);
    await page.getByRole("button", { name: "Tiếp tục khóa API An" }).click();
    await page.getByRole("button", { name: "Tạm dừng khóa API An" }).waitFor();
    t.equal((await post(stage.gateway, paths.chat, { key }, bodies.chat())).status, 200);
    t.strictSame(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
    );
  });

  t.test("ends another session, and all of them", async (t) => {
    const { page, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/account`);
    await page.getByRole("button", { name: "Kết thúc" }).click();
    await page.getByRole("button", { name: "Kết thúc" }).waitFor({ state: "detached" });
    t.equal((await session.get("/me")).status, 401);
    await page.getByLabel("Ngôn ngữ").selectOption("en");
    await page.getByRole("heading", { name: "Account", exact: true }).waitFor();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    // The account stores its language, which applies in a new browser too.
    const { page: other } = await stage.visitor();
    await signInByForm(other, stage.url, session.email);
    await other.getByRole("heading", { name: "Overview" }).waitFor();
  });

  t.test("sees how many keys the operator allows", async (t) => {
    const { page, session } = await stage.customer();
    await reload(stage.gateway, { plugins: { accounts: { active_keys_max: 3 } } });
    for (const name of ["laptop", "server"]) await session.post("/keys", { name });
    await signInByForm(page, stage.url, session.email);
    await page.goto(`${stage.url}/dashboard/keys`);
    await page.getByText("2/3", { exact: true }).waitFor();
    t.equal(await page.getByText("2/10").count(), 0);
  });

  t.test("signs up with the link of an invitation", async (t) => {
    await reload(stage.gateway, { plugins: { accounts: { sign_up: "invited" } } });
    const { body } = await admin(stage.gateway, "POST", "/invitations", {});
    const { page } = await stage.visitor();
    await page.goto(`${stage.url}/dashboard/sign-up?code=wrong`);
    await page.getByLabel("Email").fill("invited@tollgate.test");
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    const submit = page.getByRole("button", { name: "Tạo tài khoản" });
    await submit.click();
    await page.getByText("Mã mời này không có").waitFor();
    await page.goto(String(body["link"]));
    t.equal(await page.getByLabel("Mã mời").inputValue(), body["code"]);
    await page.getByLabel("Email").fill("invited@tollgate.test");
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    await submit.click();
    await page.getByText("Chúng tôi đã gửi email tới invited@tollgate.test").waitFor();
  });

  t.test("sees that sign-ups are closed instead of a form", async (t) => {
    const accounts = { sign_up: "closed" };
    await reload(stage.gateway, { plugins: { accounts, dashboard: { support: "a@b.test" } } });
    const { page, complaints } = await stage.visitor();
    await page.goto(`${stage.url}/dashboard/sign-up`);
    await page.getByRole("heading", { name: "Hiện không nhận đăng ký" }).waitFor();
    t.equal(await page.getByRole("textbox").count(), 0);
    t.equal(await page.getByRole("link", { name: "a@b.test" }).count(), 1);
    await page.getByRole("link", { name: "Đăng nhập" }).click();
    await page.getByRole("button", { name: "Đăng nhập" }).waitFor();
    t.equal(await page.getByRole("link", { name: "Tạo tài khoản" }).count(), 0);
    t.strictSame(complaints, []);
  });
});
