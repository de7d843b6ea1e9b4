import type { Services } from "../services.ts";
import type { PlainResponse, Router } from "./router.ts";

const PING_TIMEOUT_MS = 2000;

/** `GET /healthz`: the process answers. `GET /readyz`: so do its stores. */
export function addHealthRoutes(router: Router, services: Services): void {
  const common = { method: "GET", access: "public", bodyBytesMax: 0 } as const;
  router.add({ ...common, path: "/healthz", handler: () => json(200, { status: "ok" }) });
  router.add({
    ...common,
    path: "/readyz",
    handler: async () => {
      try {
        await services.ledger.ping(PING_TIMEOUT_MS);
        return json(200, { status: "ready" });
      } catch (error) {
        services.log.warn({ err: error }, "not ready: the ledger does not answer");
        return json(503, { status: "not ready", reason: "the ledger does not answer" });
      }
    },
  });
}

function json(status: number, body: object): PlainResponse {
  return { status, headers: ["content-type", "application/json"], body: JSON.stringify(body) };
}
