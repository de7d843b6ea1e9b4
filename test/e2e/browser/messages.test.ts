import { join } from "node:path";
import t from "tap";
import { signInByForm } from "../../support/dashboard.ts";
import { until } from "../../support/until.ts";
import { findings, sticksOut } from "./inspect.ts";
import { type Stage, startStage } from "./stage.ts";

const PHONE = { width: 360, height: 640 };
/** Set it to a folder to look at the pictures. */
const PICTURES = process.env["PICTURES"];

t.test("the mails that a customer gets", async (t) => {
  const stage: Stage = await startStage();
  t.teardown(() => stage.close());
  const { page, complaints, session } = await stage.customer();
  const settings = async () => (await session.get("/messages")).body;
  const noToast = () =>
    until("toasts are gone", async () => (await page.locator(".toast").count()) === 0);
  const picture = async (name: string) => {
    if (!PICTURES) return;
    await page.getByText(/Email bạn nhận|Emails you get/).scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  };

  await signInByForm(page, stage.url, session.email);
  await page.goto(`${stage.url}/dashboard/account`);
  await page.getByLabel("Giá sẽ thay đổi").uncheck();
  await until("it is off", async () => (await settings()).off.includes("prices"));
  await page.getByLabel("Báo khi số dư xuống dưới").fill("1.500.000");
  await page.getByRole("button", { name: "Lưu" }).click();
  await until("it is set", async () => (await settings()).low_balance_vnd === "1500000");
  await noToast();
  t.strictSame(await findings(page), []);
  await picture("vi");
  await page.setViewportSize(PHONE);
  t.strictSame(await sticksOut(page), []);
  t.strictSame(await findings(page), []);
  await picture("vi-phone");

  await session.post("/me", { language: "en" });
  await page.reload();
  const prices = page.getByLabel("Prices will change");
  await prices.waitFor();
  t.notOk(await prices.isChecked(), "it stays off");
  await prices.check();
  await until("it is on", async () => (await settings()).off.length === 0);
  await page.getByLabel("Email me when the balance is below").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await until("it is the default", async () => (await settings()).low_balance_vnd === null);
  await noToast();
  t.strictSame(await findings(page), []);
  await picture("en-phone");
  t.strictSame(complaints, []);
});
