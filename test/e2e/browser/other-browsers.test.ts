import t from "tap";
import { topupSettings } from "../../plugins/dashboard/bank.ts";
import { signInByForm } from "../../support/dashboard.ts";
import { type Stage, startStage } from "./stage.ts";

t.test("browsers that lack what Chromium has, and lines that fail", async (t) => {
  let stage: Stage;
  t.before(async () => {
    stage = await startStage({ plugins: { topup: topupSettings() } });
  });
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
});
