/**
 * `node dist/test/plugins/dashboard/pictures.js FOLDER` saves screenshots of every page to FOLDER:
 * light and dark, desktop and phone. Without FOLDER it saves those in the README to
 * plugins/dashboard/pictures.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { packageRoot } from "../../../core/process/root.ts";
import { startBrowser } from "../../support/browser.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import { signInByForm, startDashboard } from "../../support/dashboard.ts";
import { topupSettings } from "./bank.ts";
import { showCustomer } from "./show-customer.ts";

const DESKTOP = { width: 1180, height: 760 };
const PHONE = { width: 390, height: 780 };
const PUBLIC = ["sign-in", "sign-up", "forgot", "models", "how-to"];

interface View {
  readonly language: "vi" | "en";
  readonly theme: "light" | "dark";
  readonly size: typeof DESKTOP;
}

async function main(): Promise<void> {
  const [folder] = process.argv.slice(2);
  const dashboard = await startDashboard({
    config: { catalogue: SHIPPED_CATALOGUE },
    plugins: { topup: topupSettings() },
  });
  const browser = await startBrowser();
  try {
    const { orderId, session } = await showCustomer(dashboard);
    const camera = { browser, url: dashboard.gateway.url, email: session.email, orderId };
    if (folder === undefined) await forReadme(camera);
    else await everything(camera, folder);
  } finally {
    await browser.close();
    await dashboard.close();
  }
}

interface Camera {
  readonly browser: Browser;
  readonly url: string;
  readonly email: string;
  readonly orderId: string;
}

async function everything(camera: Camera, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const theme of ["light", "dark"] as const) {
    for (const [name, size] of [
      ["desktop", DESKTOP],
      ["phone", PHONE],
    ] as const) {
      const view = { language: theme === "light" ? "vi" : "en", theme, size } as const;
      const visitor = await open(camera, view, false);
      for (const page of PUBLIC) {
        await visit(visitor, `${camera.url}/dashboard/${page}`);
        await shoot(
          visitor,
          join(folder, `visitor-${page}-${theme}-${name}.png`),
          page !== "models",
        );
      }
      await visitor.context().close();
      const page = await open(camera, view, true);
      for (const path of [
        "",
        "usage",
        "keys",
        "top-up",
        `top-up/${camera.orderId}`,
        "models",
        "how-to",
        "account",
        "chat",
      ]) {
        await visit(page, `${camera.url}/dashboard/${path}`);
        if (path === "chat") await converse(page);
        const title = path === "" ? "overview" : path.replace(/\/.*/, "-order");
        await shoot(
          page,
          join(folder, `${title}-${theme}-${name}.png`),
          path !== "models" && path !== "chat",
        );
      }
      await page.context().close();
    }
  }
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
    ["top-up-phone", `top-up/${camera.orderId}`, { language: "vi", theme: "light", size: phone }],
    ["overview-phone", "", { language: "vi", theme: "dark", size: phone }],
  ] as const;
  for (const [name, path, view] of wanted) {
    const page = await open(camera, view, true, view.size === desktop ? 0.6 : 1);
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
  signedIn: boolean,
  deviceScaleFactor = 1,
): Promise<Page> {
  const context = await camera.browser.newContext({
    viewport: view.size,
    deviceScaleFactor,
    colorScheme: view.theme,
    reducedMotion: "reduce",
    // Each view comes from its own address: together they would hit the rate limits.
    extraHTTPHeaders: { "x-forwarded-for": `10.1.${view.size.width % 256}.${view.theme.length}` },
  });
  const page = await context.newPage();
  const cookie = {
    name: "tollgate_language",
    value: view.language,
    url: `${camera.url}/dashboard`,
  };
  await context.addCookies([cookie]);
  if (signedIn) {
    await signInByForm(page, camera.url, camera.email);
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
