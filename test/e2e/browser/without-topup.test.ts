import t from "tap";
import { prompt } from "../../support/ask.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { startStage } from "./stage.ts";

for (const vouchers of [true, false]) {
  t.test(`without bank transfers, with${vouchers ? "" : "out"} vouchers`, async (t) => {
    const stage = await startStage({ plugins: { topup: false, ...(!vouchers && { vouchers }) } });
    t.teardown(() => stage.close());
    const { page, complaints, session } = await stage.customer();
    await session.post("/keys", { name: "laptop" });
    await signInByForm(page, stage.url, session.email);
    await page.locator(".waiting").first().waitFor({ state: "detached" });
    t.notMatch(await (await fetch(stage.url)).text(), /VietQR|chuyển khoản/);
    const offers = () => page.locator('a:visible[href="/dashboard/top-up"]').count();

    t.test("offers a page to add money only if there is one", async (t) => {
      t.equal((await offers()) > 0, vouchers, "on the overview");
      await page.goto(`${stage.url}/dashboard/chat`);
      await page.getByPlaceholder("Tin nhắn của bạn").fill(prompt({ text: "never said" }));
      await page.keyboard.press("Enter");
      const problem = page.getByRole("alert");
      await problem.getByText("Số dư không đủ cho lượt gọi này.").waitFor();
      t.equal(await problem.getByRole("link").count(), vouchers ? 1 : 0);
      t.equal((await offers()) > 0, vouchers, "in the chat");
    });

    t.test("asks for nothing that is not served", async (t) => {
      for (const path of ["", "/money", "/top-up"]) {
        const shown = await page.goto(`${stage.url}/dashboard${path}`);
        t.equal(shown?.status(), path === "/top-up" && !vouchers ? 404 : 200, path);
        await page.locator(".waiting").first().waitFor({ state: "detached" });
      }
      if (vouchers) await page.getByRole("button", { name: "Đổi mã" }).waitFor();
      t.strictSame(
        complaints.filter((text) => !/status of 402|\/dashboard\/top-up/.test(text)),
        [],
      );
    });
  });
}
