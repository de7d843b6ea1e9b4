import {
  addCustomerRoutes,
  addKeyRoutes,
  addOperatorRoutes,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { commands } from "./commands.ts";
import { redemptionOf } from "./customer-routes.ts";
import { operatorRoutes } from "./operator-routes.ts";
import type { Settings } from "./options.ts";
import { Redeeming } from "./redeeming.ts";

export { options } from "./options.ts";
export const uses = ["guards.customer", "wallets"];

/**
 * Lets operators make codes, and customers redeem them: on the top-up page, or with a key. Takes no part in calls.
 */
export default function vouchers(services: Services, settings: Settings): Plugin {
  const redeeming = new Redeeming(services);
  return {
    name: "vouchers",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/vouchers/migrations/", import.meta.url),
    commands,

    start: async () => redeeming.start(),

    routes(router) {
      const handle = redemptionOf(services, settings, redeeming);
      const route = { method: "POST", path: "/vouchers", handle } as const;
      addCustomerRoutes(router, services, "/account/v1", [route]);
      addKeyRoutes(router, services, "/v1", [route]);
      addOperatorRoutes(router, services, "/admin/v1", operatorRoutes(services));
    },

    stop: () => redeeming.stop(),
  };
}
