import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Stage, Visitor } from "./stage.ts";

export const PHONE = { width: 360, height: 640 };
export const DESKTOP = { width: 1280, height: 800 };
/** A folder for pictures of the pages, to look at. */
const PICTURES = process.env["TOLLGATE_PICTURES"];

/** Takes a picture of a page if someone has named a folder for it. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** Resolves when a page shows all that it waits for. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      document.querySelector("main h1") && !document.querySelector(".waiting, [aria-busy=true]"),
  );
}

/** Opens a page of the console. */
export async function openConsole({ url }: Stage, page: Page, path: string): Promise<void> {
  await page.goto(`${url}/console${path}`);
  await settled(page);
  await page.waitForLoadState("networkidle");
}

/** Signs in with the admin token, at a page of the console. */
export async function signInByToken(stage: Stage, page: Page, path = ""): Promise<void> {
  await openConsole(stage, page, path);
  await page.locator("main button.quiet", { hasText: "token" }).click();
  await page.fill("input[type=password]", stage.gateway.adminToken);
  await page.click("button[type=submit]");
  await page.locator(".sidebar, .bottombar").first().waitFor({ state: "attached" });
  await settled(page);
}

/** A browser at a page of the console, with the admin token. */
export async function operatorAt(
  stage: Stage,
  path = "",
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const visitor = await stage.visitor({ viewport: DESKTOP, locale: "en", ...options });
  await signInByToken(stage, visitor.page, path);
  return visitor;
}
