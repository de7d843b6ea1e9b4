import { type Plugin, program, type Services, text, v } from "../../core/plugin/index.ts";
import { pageFiles, pagesHandler } from "../page-parts/pages.ts";
import { BASE } from "./browser/base.ts";
import { pages } from "./browser/page-table.ts";
import { text as english } from "./browser/text-en.ts";
import { text as vietnamese } from "./browser/text-vi.ts";

export const uses = ["guards.operator"];

export const options = v.strictObject({
  /** Name of the service on the pages. */
  service_name: v.optional(text("a name"), "Tollgate"),
});

/** The operator that the plugin `demo` lets in. */
const DEMO_EMAIL = "operator@tollgate.local";

/**
 * Serves the operators' pages under `/console`, at the address of the admin API, which they read and change everything
 * through. Takes no part in calls.
 */
export default function console(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const has = (plugin: string) => services.config.plugins.some(({ name }) => name === plugin);

  return {
    name: "console",

    routes(router) {
      const handler = pagesHandler(pageFiles("console", BASE, "console.css"), {
        base: BASE,
        routes: pages,
        serviceName: settings.service_name,
        texts: { vi: vietnamese, en: english },
        home: BASE,
        data: () => ({
          people: has("operators") ? "" : undefined,
          command: program.admin,
          demo: has("demo") ? DEMO_EMAIL : undefined,
        }),
      });
      router.addRoute({
        method: "GET",
        path: `${BASE}/*`,
        access: "public",
        forOperators: true,
        bodyBytesMax: 0,
        handler,
      });
    },
  };
}
