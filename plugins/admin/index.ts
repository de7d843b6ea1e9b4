import * as v from "valibot";
import { whole } from "../../core/config/fields.ts";
import type { PlainRequest } from "../../core/http/router.ts";
import type { Plugin } from "../../core/plugin.ts";
import { type Refusal, serviceUnavailable } from "../../core/refusal.ts";
import type { Services } from "../../core/services.ts";
import { accountRoutes } from "./accounts.ts";
import { type AdminRoute, type Done, respond } from "./answer.ts";
import { keyRoutes } from "./keys.ts";
import { moneyRoutes } from "./money.ts";
import { AdminToken } from "./token.ts";
import { usageRoutes } from "./usage.ts";

const BODY_BYTES_MAX = 64 * 1024;
const PING_TIMEOUT_MS = 1000;

export const options = v.strictObject({
  /** Keys of one account that may be active at a time. */
  active_keys_max: v.optional(whole(1, 1000), 10),
});

/** Serves the operator's API under `/admin/v1` to whoever has the admin token; takes no part in calls. */
export default function admin(services: Services, settings: v.InferOutput<typeof options>): Plugin {
  const token = new AdminToken(services);
  const routes: readonly AdminRoute[] = [
    ...accountRoutes(services),
    ...keyRoutes(services, settings.active_keys_max),
    ...moneyRoutes(services),
    ...usageRoutes(services),
  ];

  async function serve(route: AdminRoute, request: PlainRequest): Promise<Done | Refusal> {
    const denied = await token.check(request.headers["authorization"]);
    if (denied) return denied;
    try {
      return await route.handle(request);
    } catch (error) {
      // With its ledger away a route can only fail; with its ledger there the failure is a bug.
      if (await answers(services)) throw error;
      services.log.warn({ err: error, path: request.path }, "an admin request found no ledger");
      return serviceUnavailable(
        "The ledger does not answer; try again shortly. A credit counts once, however often it is sent.",
      );
    }
  }

  return {
    name: "admin",

    start: () => token.prepare(),

    routes(router) {
      for (const route of routes) {
        router.add({
          method: route.method,
          path: `/admin/v1${route.path}`,
          access: "own",
          bodyBytesMax: BODY_BYTES_MAX,
          handler: async (request) => respond(await serve(route, request)),
        });
      }
    },
  };
}

async function answers({ ledger }: Services): Promise<boolean> {
  try {
    await ledger.ping(PING_TIMEOUT_MS);
    return true;
  } catch {
    return false;
  }
}
