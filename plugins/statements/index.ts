import {
  addCustomerRoutes,
  addOperatorRoutes,
  type Command,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { Closing } from "./closing.ts";
import { customerRoutes, operatorRoutes } from "./routes.ts";
import type { Options } from "./terms.ts";

export { options } from "./terms.ts";

export const uses = ["guards.customer"];
export const provides = ["gauges"];

const commands: readonly Command[] = [
  {
    words: "statement",
    about:
      "show the closed statement of a customer's month; without --month list them, with their digests",
    method: "GET",
    path: "/admin/v1/accounts/:account/statement",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "month", value: "YYYY-MM" },
    ],
  },
  {
    words: "statement invoices",
    about:
      "list the data of the VAT invoices of a month, one for each closed statement; with --csv for your accounting",
    method: "GET",
    path: "/admin/v1/invoices",
    options: [
      { name: "month", value: "YYYY-MM", required: true },
      { name: "limit", value: "N" },
    ],
    pages: { query: "after", field: "account" },
  },
];

/** Closes a statement for each customer and month, and mails its digest. Takes no part in calls. */
export default function statements(services: Services, settings: Options): Plugin {
  const closing = new Closing(services, settings);
  return {
    name: "statements",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/statements/migrations/", import.meta.url),
    commands,

    async start() {
      await services.usage.months.prepare();
      services.gauges.provide({
        name: "tollgate_statements_failing",
        help: "Customers whose statement of a month that is over cannot be closed: its rows do not add up to the ledger's balances.",
        value: () => closing.failing,
      });
      closing.start();
    },

    routes(router) {
      addCustomerRoutes(router, services, "/account/v1", customerRoutes(services, settings));
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(services, settings));
    },

    stop: () => closing.stop(),
  };
}
