import type { Route, Router } from "../../../core/contract/routes/router.ts";
import type { Services } from "../../../core/contract/services.ts";
import admin from "../../../plugins/admin/index.ts";

/** Every route of the admin plugin. They are never called, so none of the services is there. */
export function adminRoutes(router: Router): Route[] {
  const none = {} as Services;
  admin(none, { active_keys_max: 10 }).routes?.(router);
  return router.all();
}
