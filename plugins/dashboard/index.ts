import {
  addCustomerRoutes,
  type Plugin,
  type Services,
  text,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { pageFiles } from "../page-parts/pages.ts";
import { BASE } from "./browser/routes.ts";
import { catalogueHandler } from "./catalogue.ts";
import { frontHandler } from "./front.ts";
import { moneyRoutes } from "./money.ts";
import { dashboardHandler } from "./pages.ts";
import { usageRoutes } from "./usage.ts";
import { exportRoute } from "./usage-export.ts";

export const uses = ["guards.customer"];

export const options = v.strictObject({
  /** Name of the service on the pages. */
  service_name: v.optional(text("a name"), "Tollgate"),
  /** An e-mail or web address for questions, on the front page and for customers who are suspended. */
  support: v.optional(text("an e-mail or web address")),
  /** Ids of models that the pages list first. Ids that the catalogue lacks are skipped. */
  popular_models: v.optional(v.array(text("the id of a model"), "a list of model ids"), [
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "gpt-5.6-sol",
    "gemini-3.5-flash",
    "deepseek-v4-flash",
  ]),
  /** CSV exports that one account may download at the same time. */
  exports_per_account_max: v.optional(whole(1, 100), 2),
});

/** The account that the plugin `demo` creates. */
const DEMO_EMAIL = "demo@tollgate.local";

/**
 * Serves a front page at `/`, the customer pages under `/dashboard`, and their API for usage, money and models. Takes no part in
 * model calls.
 */
export default function dashboard(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  return {
    name: "dashboard",

    start: () => services.usage.prepare(),

    routes(router) {
      const files = pageFiles("dashboard", BASE);
      const names = { serviceName: settings.service_name, support: settings.support };
      const open = { method: "GET", access: "public", bodyBytesMax: 0 } as const;
      const has = (plugin: string) => services.config.plugins.some(({ name }) => name === plugin);
      const all = { ...names, demo: has("demo") ? DEMO_EMAIL : undefined, has };
      const pages = dashboardHandler(files, all, services.customers);
      router.addRoute({ ...open, path: `${BASE}/*`, handler: pages });
      const front = frontHandler(services, { ...names, ...files, canTransfer: has("topup") });
      router.addRoute({ ...open, path: "/", handler: front });
      // Browsers look for an icon here.
      const location = ["location", `${files.folder}/icon.svg`, "cache-control", "no-store"];
      router.addRoute({
        ...open,
        path: "/favicon.ico",
        handler: () => ({ status: 302, headers: location }),
      });
      router.addRoute({
        ...open,
        path: "/account/v1/catalogue",
        handler: catalogueHandler(services, settings.popular_models),
      });
      addCustomerRoutes(router, services, "/account/v1", [
        ...usageRoutes(services),
        ...moneyRoutes(services),
        exportRoute(services, settings.exports_per_account_max),
      ]);
    },
  };
}
