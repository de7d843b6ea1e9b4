/**
 * `node dist/test/plugins/dashboard/pictures.js FOLDER [PART]` saves screenshots of every page and state to FOLDER, those
 * with PART in their names: phone and desktop, light and dark, in both languages. Without FOLDER it saves those in
 * READMEs to plugins/dashboard/pictures.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { packageRoot } from "../../../core/process/root.ts";
import { admin } from "../../support/admin.ts";
import { startBrowser } from "../../support/browser.ts";
import { ownAddress, signedUp } from "../../support/browser-session.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { type DashboardGateway, signInByForm, startDashboard } from "../../support/dashboard.ts";
import { notify, transfer } from "../topup/topups.ts";
import { topupSettings } from "./bank.ts";
import { showCustomer } from "./show-customer.ts";

const SIZES = { phone: { width: 390, height: 780 }, desktop: { width: 1280, height: 800 } };

interface View {
  readonly language: "vi" | "en";
  readonly theme: "light" | "dark";
  readonly size: typeof SIZES.phone;
}

async function main(): Promise<void> {
  const [folder, part = ""] = process.argv.slice(2);
  const dashboard = await startDashboard({
    config: { catalogue: SHIPPED_CATALOGUE },
    plugins: { topup: topupSettings(), dashboard: { support: "help@example.com" } },
  });
  const browser = await startBrowser();
  try {
    const { orderId, session } = await showCustomer(dashboard);
    const { gateway, mailServer } = dashboard;
    const newcomer = await signedUp(gateway, mailServer, "an.nguyen@example.com");
    const orders: Record<string, string> = { OPEN: orderId };
    for (const [name, paid] of [
      ["SHORT", 60_000],
      ["PAID", 200_000],
    ] as const) {
      const { id, code } = (await session.post("/top-ups", { amount_vnd: 200_000 })).body;
      await notify(
        gateway,
        transfer({ transferAmount: paid, content: `MB 0123 ${code} nap tien` }),
      );
      orders[name] = id;
    }
    const camera: Camera = {
      ...{ browser, dashboard, url: gateway.url, orders },
      ...{ email: session.email, accountId: session.accountId, newcomer: newcomer.email },
    };
    if (folder === undefined) await forReadme(camera);
    else await everything(camera, folder, part);
  } finally {
    await browser.close();
    await dashboard.close();
  }
}

interface Camera {
  readonly browser: Browser;
  readonly dashboard: DashboardGateway;
  readonly url: string;
  /** A customer with thirty days of calls, and one who has just signed up. */
  readonly email: string;
  readonly accountId: string;
  readonly newcomer: string;
  /** Ids of top-ups by their state. */
  readonly orders: Readonly<Record<string, string>>;
}

type Look = (page: Page, camera: Camera) => Promise<unknown>;
const wait = () => Promise.resolve();
const click = (selector: string) => (page: Page) => page.locator(selector).first().click();

/** Pages and states: the path, and what to do there before the picture. */
const VISITOR: Readonly<Record<string, readonly [path: string, look?: Look]>> = {
  front: ["../"],
  "sign-in": ["sign-in"],
  "sign-in-wrong": [
    "sign-in",
    async (page) => {
      await page.fill("input[type=email]", "minh.tran@example.com");
      await page.fill("input[type=password]", "wrong password");
      await page.click("button[type=submit]");
      await page.locator(".notice.bad").waitFor();
    },
  ],
  "sign-up": ["sign-up"],
  forgot: ["forgot"],
  "reset-used": ["reset#token=used"],
  verify: ["verify#token=some"],
  models: ["models", click("summary")],
  "how-to": ["how-to"],
  nowhere: ["nowhere"],
};
const NEWCOMER: typeof VISITOR = {
  "new-overview": [""],
  "new-usage": ["usage"],
  "new-keys": ["keys"],
  "new-money": ["money"],
  "new-top-up": ["top-up"],
  "new-how-to": ["how-to"],
  "new-chat": ["chat"],
};
const CUSTOMER: typeof VISITOR = {
  overview: [""],
  usage: ["usage"],
  "usage-year": ["usage?days=365"],
  "usage-failed": ["usage?status=failed"],
  "usage-none": ["usage?from=2020-01-01&to=2020-01-02"],
  call: [
    "usage",
    async (page) => {
      await page.locator(".calls button.link").first().click();
      await page.locator("dialog .sum").waitFor();
    },
  ],
  keys: ["keys"],
  "key-new": [
    "keys",
    async (page) => {
      await page.locator("main button.primary").first().click();
      await page.locator("dialog input").waitFor();
    },
  ],
  "key-shown": [
    "keys",
    async (page) => {
      await page
        .getByRole("button", { name: /^(?:Xem khóa|Show key)/ })
        .first()
        .click();
      await page.locator("[data-secret]").waitFor();
    },
  ],
  money: ["money"],
  "top-up": ["top-up"],
  "order-open": ["top-up/OPEN"],
  "order-short": ["top-up/SHORT"],
  "order-paid": ["top-up/PAID"],
  models: ["models"],
  "how-to": ["how-to?client=claude-code&system=bash"],
  "how-to-windows": ["how-to?client=codex&system=powershell"],
  account: ["account"],
  factor: [
    "account",
    async (page) => {
      await page.getByRole("button", { name: /^(?:Bật|Turn on)$/ }).click();
      await page.locator("dialog input").waitFor();
    },
  ],
  chat: ["chat", converse],
  more: [
    "",
    (page) =>
      page
        .locator(".bar-item")
        .filter({ visible: true })
        .or(page.locator(".account-menu summary").filter({ visible: true }))
        .first()
        .click(),
  ],
  offline: [
    "keys",
    async (page) => {
      await page.context().setOffline(true);
      await page.locator("a[href='/dashboard/usage']").filter({ visible: true }).first().click();
      await page.locator(".notice.bad").waitFor();
    },
  ],
  failed: [
    "",
    async (page) => {
      await page.route("**/account/v1/**", (route) => route.fulfill({ status: 500, json: {} }));
      await page.locator("a[href='/dashboard/usage']").filter({ visible: true }).first().click();
      await page.locator(".notice.bad").first().waitFor();
    },
  ],
  loading: [
    "",
    async (page) => {
      await page.route("**/account/v1/usage*", () => {});
      await page.locator("a[href='/dashboard/usage']").filter({ visible: true }).first().click();
      await page.locator(".waiting").first().waitFor();
    },
  ],
  maintenance: [
    "",
    async (page, { dashboard }) => {
      await admin(dashboard.gateway, "POST", "/maintenance", { enabled: true, message: null });
      await page.reload();
      await page.locator(".status-bar svg").first().waitFor();
      await admin(dashboard.gateway, "POST", "/maintenance", { enabled: false });
    },
  ],
  expired: [
    "",
    async (page) => {
      await page.route("**/account/v1/**", (route) => route.fulfill({ status: 401, json: {} }));
      await page.locator("a[href='/dashboard/usage']").filter({ visible: true }).first().click();
      await page.locator("input[type=password]").waitFor();
    },
  ],
  // Last, as it ends the session.
  suspended: [
    "",
    async (page, { dashboard, accountId, url }) => {
      const signedIn = { name: "tollgate_signed_in", value: "yes", url: `${url}/dashboard` };
      await page.context().addCookies([signedIn]);
      await admin(dashboard.gateway, "POST", `/accounts/${accountId}/suspend`, { reason: "test" });
      await page.reload();
      await page.locator(".auth").waitFor();
      await admin(dashboard.gateway, "POST", `/accounts/${accountId}/resume`, { reason: "test" });
    },
  ],
};

async function everything(camera: Camera, folder: string, part: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const language of ["vi", "en"] as const) {
    for (const theme of ["light", "dark"] as const) {
      for (const [size, view] of Object.entries(SIZES)) {
        for (const [who, looks] of [
          [undefined, VISITOR],
          [camera.newcomer, NEWCOMER],
          [camera.email, CUSTOMER],
        ] as const) {
          const names = Object.keys(looks)
            .map(
              (name) =>
                [name, `${who ? "" : "visitor-"}${name}-${size}-${theme}-${language}`] as const,
            )
            .filter(([, title]) => title.includes(part));
          if (names.length === 0) continue;
          const first = await open(camera, { language, theme, size: view }, who);
          for (const [name, title] of names) {
            const [path, look = wait] = looks[name] ?? [""];
            const page = await first.context().newPage();
            await visit(page, `${camera.url}/dashboard/${withOrder(path, camera)}`);
            await look(page, camera);
            const isOpen = await page.locator("dialog[open]").count();
            await shoot(page, join(folder, `${title}.png`), isOpen === 0 && name !== "chat");
            await page.close();
            await first.context().setOffline(false);
          }
          await first.context().close();
        }
      }
    }
  }
}

function withOrder(path: string, { orders }: Camera): string {
  return path.replace(/(?<=\/)[A-Z]+$/, (name) => orders[name] ?? name);
}

/** Scaled down, so that the README loads fast. */
async function forReadme(camera: Camera): Promise<void> {
  const folder = join(packageRoot, "plugins/dashboard/pictures");
  mkdirSync(folder, { recursive: true });
  const desktop = { width: 1240, height: 780 };
  const phone = { width: 360, height: 720 };
  const wanted = [
    ["overview", "", { language: "en", theme: "light", size: desktop }],
    ["connect", "how-to?client=claude-code", { language: "en", theme: "light", size: desktop }],
    ["usage", "usage", { language: "en", theme: "dark", size: desktop }],
    ["front", "../?language=vi", { language: "vi", theme: "light", size: desktop }],
    [
      "top-up-phone",
      `top-up/${camera.orders["OPEN"]}`,
      { language: "vi", theme: "light", size: phone },
    ],
    ["overview-phone", "", { language: "vi", theme: "dark", size: phone }],
  ] as const;
  for (const [name, path, view] of wanted) {
    const page = await open(camera, view, camera.email, view.size === desktop ? 0.6 : 1);
    await visit(page, `${camera.url}/dashboard/${path}`);
    const file = join(folder, `${name}.png`);
    await shoot(page, file, false);
    console.log(`${file}  ${statSync(file).size} bytes`);
    await page.context().close();
  }
}

async function open(
  camera: Camera,
  view: View,
  email: string | undefined,
  deviceScaleFactor = 1,
): Promise<Page> {
  const context = await camera.browser.newContext({
    viewport: view.size,
    deviceScaleFactor,
    colorScheme: view.theme,
    reducedMotion: "reduce",
    // Each view comes from its own address: together they would hit the rate limits.
    extraHTTPHeaders: { "x-forwarded-for": ownAddress() },
  });
  const page = await context.newPage();
  const cookie = {
    name: "tollgate_language",
    value: view.language,
    url: `${camera.url}/dashboard`,
  };
  await context.addCookies([cookie]);
  if (email !== undefined) {
    await signInByForm(page, camera.url, email);
    await page.request.post(`${camera.url}/account/v1/me`, {
      data: { language: view.language },
      headers: { "x-csrf-token": await csrfToken(page, camera.url) },
    });
    await context.addCookies([cookie]);
  }
  return page;
}

async function csrfToken(page: Page, url: string): Promise<string> {
  const me = await page.request.get(`${url}/account/v1/me`);
  return String((await me.json()).csrf_token);
}

async function visit(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.waitForSelector("main h1");
  await page.waitForLoadState("networkidle");
}

async function converse(page: Page): Promise<void> {
  const text = [
    "Đây là hàm bạn cần:",
    "```ts\nexport function tong(gia: number[]): number {\n  return gia.reduce((a, b) => a + b, 0);\n}\n```",
    "- Mảng rỗng cho kết quả **0**\n- Mọi phần tử phải là `number`",
  ].join("\n\n");
  const directive = JSON.stringify({ text, output_tokens: 96, input_tokens: 24 });
  await page.fill("textarea", `Viết giúp tôi hàm cộng giá bằng TypeScript. [[sim ${directive}]]`);
  await page.press("textarea", "Enter");
  await page.waitForSelector(".cost strong");
  // Removes the directive for the simulated model from the picture.
  await page.evaluate(() => {
    for (const said of document.querySelectorAll(".said")) {
      said.textContent = (said.textContent ?? "").replace(/\s*\[\[sim.*$/s, "");
    }
  });
  await page.locator("textarea").blur();
}

async function shoot(page: Page, path: string, fullPage: boolean): Promise<void> {
  await page.screenshot({ path, fullPage, animations: "disabled" });
}

await main();
