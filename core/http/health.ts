import { done } from "../plugin/json-route.ts";
import type { Router } from "../plugin/router.ts";
import type { Services } from "../plugin/services.ts";
import { ThrottledLog } from "../process/throttled-log.ts";

const PING_TIMEOUT_MS = 1_000;
const ALIVE = { status: "ok" };
/** The body of the reply of `GET /healthz`. */
export const ALIVE_BODY = JSON.stringify(ALIVE);

/**
 * Adds two routes.
 *
 * - `GET /healthz` gets 200 while the process runs.
 * - `GET /readyz` says if calls can be served, the state of each store, and `unbilled` if calls are
 *   not charged.
 *
 * `/readyz` gets 503 only if the gateway stops, or if no call can be charged. While the ledger is down, calls of known
 * customers are still served. While a part of the hold store is down, calls of the other customers
 * are. A load balancer that removed the gateway then would make it worse.
 *
 * Without details, `/readyz` only says if calls can be served, and asks no store.
 */
export function addHealthRoutes(
  router: Router,
  services: Services,
  { hasDetails }: { readonly hasDetails: boolean },
): void {
  const common = { method: "GET", access: "public" } as const;
  const log = new ThrottledLog(services.log);
  let pinging: Promise<"ok" | "away"> | undefined;
  /** Asks the ledger once for all who wait for its reply: they need no key. */
  const ledgerState = () => {
    pinging ??= services.status
      .pingLedger(PING_TIMEOUT_MS)
      .then(() => "ok" as const)
      .catch((error: unknown) => {
        log.warn({ err: error }, "cannot reach the ledger; only calls of cached keys are served");
        return "away" as const;
      })
      .finally(() => {
        pinging = undefined;
      });
    return pinging;
  };
  router.addRoute({ ...common, path: "/healthz", handler: () => done(ALIVE) });
  router.addRoute({
    ...common,
    path: "/readyz",
    handler: async () => {
      if (services.status.isStopping) return done({ status: "stopping" }, 503);
      const holdStore = services.status.holdStoreHealth();
      const isReady = holdStore.kind !== "away";
      const reason = holdStore.kind === "ok" ? undefined : holdStore.reason;
      if (reason !== undefined) log.warn({ reason }, "hold store degraded; some calls get 503");
      const code = isReady ? 200 : 503;
      const status = isReady ? "ready" : "not ready";
      if (!hasDetails) return done({ status }, code);
      const ledger = await ledgerState();
      // JSON leaves out undefined fields.
      const unbilled = services.config.unbilled || undefined;
      return done({ status, hot: holdStore.kind, ledger, reason, unbilled }, code);
    },
  });
}
