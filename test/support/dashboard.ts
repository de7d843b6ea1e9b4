import type { BrowserContext, Page } from "playwright-core";
import { objectOf } from "../../core/process/json.ts";
import { PASSWORD } from "./browser-session.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";
import { startMailServer, type TestMailServer } from "./mail-server.ts";

export interface DashboardGateway {
  readonly gateway: TestGateway;
  readonly mailServer: TestMailServer;
  close(): Promise<void>;
}

/** A gateway that sends its customers real mail. */
export async function startDashboard(options: GatewayOptions = {}): Promise<DashboardGateway> {
  const mailServer = await startMailServer();
  try {
    const smtp = { host: "127.0.0.1", port: mailServer.port, from: "no-reply@tollgate.test" };
    const gateway = await startGateway({
      ...options,
      plugins: {
        ...options.plugins,
        messages: { smtp, ...objectOf(options.plugins?.["messages"]) },
      },
    });
    const close = async () => {
      await gateway.close();
      await mailServer.stop();
    };
    return { gateway, mailServer, close };
  } catch (error) {
    await mailServer.stop();
    throw error;
  }
}

/** Signs in with the form and waits for the page after it. */
export async function signInByForm(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/dashboard/sign-in`);
  await page.fill("input[type=email]", email);
  await page.fill("input[type=password]", PASSWORD);
  await page.click("button[type=submit]");
  await page.waitForSelector(".sidebar, .bottombar", { state: "attached" });
}

/**
 * Everything a browser reports: script errors, failed loads, and violations of the content policy.
 */
export function complaintsOf(context: BrowserContext): string[] {
  const complaints: string[] = [];
  const watch = (page: Page) => {
    page.on("console", (message) => {
      // A busy machine may be late; whether they are used is tested without a clock.
      if (message.text().includes("was preloaded using link preload but not used within")) return;
      if (message.type() === "error" || message.type() === "warning") {
        complaints.push(`${message.type()} ${message.text()} (${message.location().url})`);
      }
    });
    page.on("pageerror", (error) => complaints.push(`exception ${error.message}`));
  };
  for (const page of context.pages()) watch(page);
  context.on("page", watch);
  return complaints;
}
