import type { Route, Router } from "../../../core/plugin/router.ts";
import type { Services } from "../../../core/plugin/services.ts";
import admin from "../../../plugins/admin/index.ts";

/** Every route of the admin plugin. They are never called, so the services are left out. */
export function adminRoutes(router: Router): Route[] {
  const none: Pick<Services, "commands"> = { commands: [] };
  admin(none as Services).routes?.(router);
  return router.all();
}
