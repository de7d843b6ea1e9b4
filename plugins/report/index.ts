import { addOperatorRoutes, type Plugin, type Services, text, v } from "../../core/plugin/index.ts";
import { costOfCall } from "./cost-of-call.ts";
import { type CostsFile, costsFile } from "./costs-file.ts";
import { reportRoutes } from "./routes.ts";

export const provides = ["providerCosts"];

export const options = v.strictObject({
  /** The file of what providers bill; without it the costs of calls are not known. */
  costs: v.optional(text("the name of a file")),
});

export const files = { costs: costsFile };

interface Settings {
  readonly costs?: CostsFile | undefined;
}

/** Maximum number of routes in a line of the log. */
const NAMED_MAX = 5;

/** States in the record of each call what it cost the operator, and reports revenue, cost and margin. */
export default function report(services: Services, { costs }: Settings): Plugin {
  /** Says which routes have no cost, so that a name with a typing error is noticed. */
  function logUnknown({ costs: known }: CostsFile): void {
    const routes = services.config.catalogue.models.flatMap((model) => model.routes);
    const names = routes
      .filter(({ upstream, model }) => !known[upstream]?.[model])
      .map(({ upstream, model }) => `${upstream} ${model}`);
    const unknown = [...new Set(names)];
    if (unknown.length === 0) return;
    services.log.warn(
      { routes: unknown.length, first: unknown.slice(0, NAMED_MAX) },
      "the file of costs does not have some routes; the costs of their calls are not known",
    );
  }

  return {
    name: "report",

    commands: [
      {
        words: "report",
        about:
          "show revenue, cost, margin, tokens and calls; of this month unless --from and --to say otherwise; without --by " +
          "also the money that came in, and what is owed to customers at the end",
        method: "GET",
        path: "/admin/v1/report",
        options: [
          {
            name: "by",
            value: "WHAT",
            about: "a row for each day, model, provider, account or key",
            example: "model",
          },
          { name: "from", value: "YYYY-MM-DD" },
          { name: "to", value: "YYYY-MM-DD" },
          { name: "limit", value: "N" },
        ],
      },
      {
        words: "movement list",
        about:
          "list the movements of all accounts that the report adds up, newest first: transfer, credit, bonus, voucher, taken_back, " +
          "refund, adjustment; of this month unless --from and --to say otherwise",
        method: "GET",
        path: "/admin/v1/movements",
        options: [
          { name: "kind", value: "KIND", example: "refund" },
          { name: "from", value: "YYYY-MM-DD" },
          { name: "to", value: "YYYY-MM-DD" },
          { name: "limit", value: "N" },
        ],
        pages: { query: "before", field: "entry" },
      },
    ],

    routes: (router) => addOperatorRoutes(router, services, "/admin/v1", reportRoutes(services)),

    async start() {
      await services.usage.prepareReport();
      if (!costs) return;
      services.providerCosts.provide((call) => costOfCall(call, costs));
      logUnknown(costs);
    },
  };
}
