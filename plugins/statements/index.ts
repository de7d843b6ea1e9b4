import {
  addCustomerRoutes,
  addOperatorRoutes,
  type Command,
  type Plugin,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { Closing } from "./closing.ts";
import { party } from "./invoice.ts";
import { customerRoutes, type Options, operatorRoutes } from "./routes.ts";

export const uses = ["guards.customer"];
export const provides = ["gauges"];

export const options = v.strictObject({
  /** The operator as the seller of VAT invoices. */
  seller: v.optional(party),
  /** VAT that prices include, in percent. Default: statements do not state it. */
  vat_percent: v.optional(whole(0, 100)),
});

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
];

/** Closes a statement for each customer and month, and mails its digest. Takes no part in calls. */
export default function statements(services: Services, settings: Options): Plugin {
  const closing = new Closing(services);
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
