import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { startBrowser } from "../../support/browser.ts";
import { ownAddress, signedUp } from "../../support/browser-session.ts";
import { complaintsOf, type DashboardGateway, startDashboard } from "../../support/dashboard.ts";
import type { GatewayOptions } from "../../support/gateway.ts";

/** The machine may be busy with other tests. */
const PATIENCE_MS = 60_000;

/** A visitor's browser, with a page and storage of its own. */
export interface Visitor {
  readonly page: Page;
  /** The errors that the browser has logged so far. */
  readonly complaints: string[];
}

export interface Stage extends DashboardGateway {
  readonly browser: Browser;
  readonly url: string;
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
  /** A customer who has signed up through the API, with a browser that is not signed in yet. */
  customer(
    options?: BrowserContextOptions,
  ): Promise<Visitor & { readonly session: Awaited<ReturnType<typeof signedUp>> }>;
}

/** A gateway with a real mail server and a real browser. */
export async function startStage(options: GatewayOptions = {}): Promise<Stage> {
  const dashboard = await startDashboard(options);
  const browser = await startBrowser().catch(async (error: unknown) => {
    await dashboard.close();
    throw error;
  });
  const { gateway, mailServer } = dashboard;

  async function visitor(more: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({
      permissions: ["clipboard-read", "clipboard-write"],
      locale: "vi-VN",
      // Every visitor has an own address: together they would hit the rate limits.
      extraHTTPHeaders: { "x-forwarded-for": ownAddress() },
      ...more,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const complaints = complaintsOf(context);
    return { page: await context.newPage(), complaints };
  }

  return {
    ...dashboard,
    browser,
    url: gateway.url,
    visitor,
    async customer(more) {
      const session = await signedUp(gateway, mailServer);
      return { ...(await visitor(more)), session };
    },
    async close() {
      await browser.close();
      await dashboard.close();
    },
  };
}
