import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import t from "tap";
import { credit } from "../../support/admin.ts";
import { prompt } from "../../support/ask.ts";
import { BrowserSession, newEmail, ownAddress, PASSWORD } from "../../support/browser-session.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { until } from "../../support/until.ts";
import { PHONE, picture } from "./console-page.ts";
import { findings, sticksOut } from "./inspect.ts";
import { startStage } from "./stage.ts";

t.test("the page of a team in a browser", async (t) => {
  const stage = await startStage();
  t.teardown(() => stage.close());

  /** Checks the page for everyone, at this width and on a phone. */
  async function inspect(page: Page, name: string): Promise<void> {
    await page.waitForLoadState("networkidle");
    await page.waitForFunction(() => document.querySelector(".toast") === null);
    t.strictSame(await findings(page), [], name);
    await picture(page, name);
    const before = page.viewportSize();
    await page.setViewportSize(PHONE);
    t.strictSame(await findings(page), [], `${name} on a phone`);
    t.strictSame(await sticksOut(page), [], name);
    await picture(page, `${name}-phone`);
    if (before) await page.setViewportSize(before);
  }

  async function call(key: string): Promise<number> {
    const messages = [{ role: "user", content: prompt({ output_tokens: 20 }) }];
    const response = await fetch(`${stage.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "req/gpt-5.6-sol", messages }),
    });
    await response.text();
    return response.status;
  }

  t.test("invites, joins, switches the wallet, limits, pauses and removes", async (t) => {
    const [owner, member] = [await stage.customer(), await stage.customer()];
    const { email } = member.session;
    await credit(stage.gateway, owner.session.accountId, 1_000_000);
    const { key: ownKey } = (await owner.session.post("/keys", { name: "Máy chủ" })).body;
    assert.equal(await call(ownKey), 200);

    // The owner invites.
    await signInByForm(owner.page, stage.url, owner.session.email);
    await owner.page.getByRole("link", { name: "Nhóm" }).click();
    await owner.page.getByText("Chưa có ai.").waitFor();
    await inspect(owner.page, "team-none");
    await owner.page.getByRole("button", { name: "Mời thành viên" }).click();
    await owner.page.getByLabel("Địa chỉ email").fill(email);
    await owner.page.getByText("Giới hạn (không bắt buộc)").click();
    await owner.page.locator("input[name=day_vnd]").fill("5.000");
    await owner.page.locator("input[name=month_vnd]").fill("90000");
    await picture(owner.page, "team-invite");
    await owner.page.getByRole("button", { name: "Gửi lời mời" }).click();
    await owner.page.locator(".item", { hasText: email }).getByText("Đã mời").waitFor();

    // The member joins, switches, makes a key and sees what is his alone.
    const { page } = member;
    await signInByForm(page, stage.url, email);
    await page.getByRole("link", { name: "Nhóm" }).click();
    await inspect(page, "team-invited");
    await page.getByRole("button", { name: `Tham gia nhóm của ${owner.session.email}` }).click();
    await page.getByRole("button", { name: `Dùng ví này: ${owner.session.email}` }).click();
    await page.locator(".sidebar .wallet", { hasText: owner.session.email }).waitFor();
    for (const name of ["Nạp tiền", "Sao kê", "Tổng quan"]) {
      t.equal(await page.getByRole("link", { name, exact: true }).count(), 0, name);
    }
    await page.getByRole("link", { name: "Khóa API", exact: true }).first().click();
    t.equal(await page.locator("main").getByText("Máy chủ").count(), 0);
    await page.getByRole("button", { name: "Tạo khóa API" }).first().click();
    await page.getByLabel("Tên").fill("Laptop");
    await page.locator("dialog").getByRole("button", { name: "Tạo khóa API" }).click();
    const key = (await page.locator("[data-secret]").textContent()) ?? "";
    await page.getByRole("button", { name: "Xong" }).click();
    assert.equal(await call(key), 200);
    await until("the call is recorded", async () => {
      const { data } = (await member.session.get("/teams")).body;
      return data[0].spent_today_vnd === "1150";
    });
    await page.goto(`${stage.url}/dashboard/usage`);
    await page.locator("main tbody tr").filter({ hasText: "Laptop" }).first().waitFor();
    t.equal(await page.locator("main tbody tr").filter({ hasText: "Máy chủ" }).count(), 0);
    t.notOk(await page.getByLabel("Thành viên").isVisible());
    await page.goto(`${stage.url}/dashboard`);
    await page.getByText("Hôm nay 1.150").waitFor();
    await inspect(page, "team-of-member");

    // The owner sees it, filters by it and sets limits.
    await owner.page.reload();
    const item = owner.page.locator(".item", { hasText: email });
    await item.getByText("Hôm nay 1.150").waitFor();
    await inspect(owner.page, "team-of-owner");
    await item.getByRole("link", { name: `Lượt gọi của ${email}` }).click();
    const rows = owner.page.locator("main tbody tr").filter({ hasText: "Laptop" });
    await rows.first().waitFor();
    t.equal(await owner.page.locator("main tbody tr").filter({ hasText: "Máy chủ" }).count(), 0);
    t.equal(await owner.page.getByLabel("Thành viên").locator("option").count(), 2);
    await inspect(owner.page, "team-usage");
    await owner.page.goto(`${stage.url}/dashboard/keys`);
    await owner.page.locator(".item", { hasText: "Laptop" }).getByText(email).waitFor();
    await owner.page.goBack();
    await rows.first().waitFor();
    await owner.page.goBack();
    await item.getByRole("button", { name: `Giới hạn của ${email}` }).click();
    const path = `/teams/${owner.session.accountId}/members`;
    const [{ id }] = (await owner.session.get(path)).body.data;
    const byManager = { limits: { month_vnd: "80000" } };
    t.equal((await owner.session.post(`${path}/${id}`, byManager)).status, 200);
    await owner.page.locator("input[name=day_vnd]").fill("1200");
    await owner.page.getByRole("button", { name: "Lưu giới hạn" }).click();
    await item.getByText("1.200").waitFor();
    const [{ limits }] = (await owner.session.get(path)).body.data;
    t.strictSame(limits, { day_vnd: "1200", month_vnd: "80000" });
    assert.equal(await call(key), 402);
    await page.goto(`${stage.url}/dashboard/chat`);
    await page.getByLabel("Mô hình").selectOption("req/gpt-5.6-sol");
    await page.getByPlaceholder("Tin nhắn của bạn").fill(prompt({ text: "never said" }));
    await page.keyboard.press("Enter");
    const problem = page.getByRole("alert");
    await problem.getByText("Ngân sách của bạn trong nhóm không còn đủ").waitFor();
    t.equal(await problem.getByRole("link").count(), 0, "a member tops up nothing");
    await until("the refusals are counted", async () => {
      const path = `/teams/${owner.session.accountId}/usage/refused`;
      return (await member.session.get(path)).body.counts.length > 0;
    });
    await page.goto(`${stage.url}/dashboard/usage`);
    await page.getByText("Hết ngân sách của thành viên").first().waitFor();
    await page.goto(`${stage.url}/dashboard`);
    await item.getByRole("button", { name: `Tạm dừng ${email}` }).click();
    await item.getByText("Đang tạm dừng").waitFor();
    assert.equal(await call(key), 403);
    await owner.page.locator(".account-menu summary").click();
    await owner.page.locator(".sidebar").getByRole("button", { name: "English" }).click();
    await item.getByText("Paused").waitFor();
    await inspect(owner.page, "team-of-owner-en");
    await item.getByRole("button", { name: `Remove ${email} from the team` }).click();
    await owner.page.locator("dialog").getByRole("button", { name: "Remove" }).click();
    await owner.page.getByText("None yet.").waitFor();
    assert.equal(await call(key), 401);
    const mistyped = (await owner.session.post(path, { email: newEmail() })).body;
    await owner.session.post(`${path}/${mistyped.id}/remove`);
    await owner.page.goto(`${stage.url}/dashboard/usage`);
    await owner.page.getByLabel("Member").selectOption({ label: `${email} (Left)` });
    await owner.page.waitForURL(/member=/);
    t.equal(await owner.page.getByLabel("Member").locator("option").count(), 2);

    // The member is back on his own wallet.
    await page.reload();
    await page.locator(".sidebar .wallet", { hasText: "Số dư" }).waitFor();
    for (const { complaints } of [owner, member]) {
      const unexpected = complaints.filter((text) => !/status of 40[234]/.test(text));
      t.strictSame(unexpected, []);
    }
  });

  t.test("does not keep a person from the first steps if invitations cannot be read", async () => {
    const { page, session } = await stage.customer();
    await signInByForm(page, stage.url, session.email);
    await page.route("**/account/v1/teams", (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto(`${stage.url}/dashboard/verify`);
    await page.getByText("Cảm ơn bạn. Giờ bạn có thể tạo khóa API.").waitFor({ timeout: 5_000 });
    await page.goto(`${stage.url}/dashboard`);
    await page.locator("ol.steps").waitFor({ timeout: 5_000 });
  });

  t.test("leads a person who signs up by its invitation to it", async () => {
    const { session: owner } = await stage.customer();
    const email = newEmail();
    const path = `/teams/${owner.accountId}/members`;
    assert.equal((await owner.post(path, { email })).status, 201);
    const { page } = await stage.visitor();
    const visitor = new BrowserSession(stage.gateway);
    visitor.headers = { "x-forwarded-for": ownAddress() };
    await visitor.post("/sign-up", { email, password: PASSWORD });
    await page.goto(await stage.mailServer.linkTo(email, "verify"));
    await page.getByLabel("Mật khẩu").fill(PASSWORD);
    await page.getByRole("button", { name: "Xác minh và đăng nhập" }).click();
    const invitation = page.getByRole("link", { name: `Tham gia nhóm của ${owner.email}` });
    await invitation.waitFor();
    await page.goto(`${stage.url}/dashboard`);
    await invitation.click();
    await page.getByRole("button", { name: `Tham gia nhóm của ${owner.email}` }).waitFor();
  });
});
