import { closestMatch } from "leven";
import {
  addOperatorRoutes,
  type Config,
  type Plugin,
  type Services,
  text,
  v,
} from "../../core/plugin/index.ts";
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

/** Maximum number of routes in a warning. */
const NAMED_MAX = 5;

/** Names the routes without a cost, and the costs without a route: one may be the other with a typing error. */
export function warnings({ costs: file }: Settings, { catalogue }: Config): readonly string[] {
  if (!file) return [];
  const offered = catalogue.models.flatMap(({ routes }) => routes);
  const costless = offered.filter(({ upstream, model }) => !file.costs[upstream]?.[model]);
  const known = new Set(catalogue.routes.map(nameOf));
  const stated = Object.entries(file.costs).flatMap(([upstream, models]) =>
    Object.keys(models).map((model) => nameOf({ upstream, model })),
  );
  const advised = (name: string) => {
    const near = closestMatch(name, [...known], { maxDistance: Math.ceil(name.length / 3) });
    return near === undefined ? name : `${name} (did you mean ${near}?)`;
  };
  return [
    ...listed("routes without a cost, so that of their calls is not known", costless.map(nameOf)),
    ...listed(
      "costs of models that no route has",
      stated.filter((name) => !known.has(name)),
      advised,
    ),
  ];
}

function nameOf({ upstream, model }: { readonly upstream: string; readonly model: string }) {
  return `${upstream} ${model}`;
}

/** Returns one line, or none without names. */
function listed(title: string, names: readonly string[], text = (name: string) => name): string[] {
  const all = [...new Set(names)];
  if (all.length === 0) return [];
  const more = all.length > NAMED_MAX ? ` and ${all.length - NAMED_MAX} more` : "";
  return [`${title}: ${all.slice(0, NAMED_MAX).map(text).join(", ")}${more}`];
}

/** States in the record of each call what it cost the operator, and reports revenue, cost and margin. */
export default function report(services: Services, { costs }: Settings): Plugin {
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
      if (costs) services.providerCosts.provide((call) => costOfCall(call, costs));
    },
  };
}
