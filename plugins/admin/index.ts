import {
  addOperatorRoutes,
  type Config,
  type Fault,
  type Plugin,
  type Services,
} from "../../core/plugin/index.ts";
import { accountRoutes } from "./accounts.ts";
import { actionRoutes } from "./actions.ts";
import { archiveRoutes } from "./archive.ts";
import { callRoutes } from "./calls.ts";
import { driftRoutes } from "./drift.ts";
import { holdRoutes } from "./holds.ts";
import { keyRoutes } from "./keys.ts";
import { modelRoutes } from "./models.ts";
import { moneyRoutes } from "./money.ts";
import { commandRoutes } from "./plugin-commands.ts";
import { quarantineRoutes } from "./quarantine.ts";
import { refusedRoutes } from "./refused.ts";
import { restoreRoutes } from "./restore.ts";
import { standingRoutes } from "./standing.ts";
import { AdminToken, reviewToken } from "./token.ts";
import { upstreamRoutes } from "./upstreams.ts";
import { usageRoutes } from "./usage.ts";

export const provides = ["guards.operator"];
export const uses = ["wallets", "operations", "corrections"];

export function review(_options: unknown, config: Config): readonly Fault[] {
  return reviewToken(config);
}

/** Serves the admin API under `/admin/v1` to clients with the admin token. Takes no part in calls. */
export default function admin(services: Services): Plugin {
  const token = new AdminToken(services);

  return {
    name: "admin",

    async start() {
      await token.prepare();
      services.guards.operator.provide((request) => token.check(request));
    },

    routes(router) {
      addOperatorRoutes(router, services, "/admin/v1", [
        ...accountRoutes(services),
        ...standingRoutes(services),
        ...keyRoutes(services),
        ...moneyRoutes(services),
        ...driftRoutes(services),
        ...usageRoutes(services),
        ...refusedRoutes(services),
        ...callRoutes(services),
        ...quarantineRoutes(services),
        ...holdRoutes(services),
        ...restoreRoutes(services),
        ...archiveRoutes(services),
        ...upstreamRoutes(services),
        ...modelRoutes(services),
        ...actionRoutes(services),
        ...commandRoutes(services),
      ]);
    },
  };
}
