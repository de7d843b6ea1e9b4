import {
  type PlainResponse,
  type Router,
  UNREAD_BODY_BYTES_MAX,
} from "../contract/routes/router.ts";
import type { Services } from "../contract/services.ts";
import { ThrottledLog } from "../process/throttled-log.ts";

const PING_TIMEOUT_MS = 1_000;

/**
 * `GET /healthz`: the process answers. `GET /readyz`: calls can be served, how each store does, and `unbilled` if calls are not charged. It answers 503
 * only where no call could be charged: while the ledger is away, calls of known customers go on, and while a part
 * of the hold store is, those of the others do, so a balancer that took the gateway out would make it worse.
 */
export function addHealthRoutes(router: Router, services: Services): void {
  const common = { method: "GET", access: "public", bodyBytesMax: UNREAD_BODY_BYTES_MAX } as const;
  const log = new ThrottledLog(services.log);
  router.add({ ...common, path: "/healthz", handler: () => json(200, { status: "ok" }) });
  router.add({
    ...common,
    path: "/readyz",
    handler: async () => {
      const ledger = await ledgerState(services, log);
      const holdStore = services.holdStore.health();
      const isReady = holdStore.kind !== "away";
      const reason = holdStore.kind === "ok" ? undefined : holdStore.reason;
      if (reason !== undefined) log.warn({ reason }, "the hold store is not well");
      const status = isReady ? "ready" : "not ready";
      // JSON leaves out what is undefined.
      const unbilled = services.config.unbilled || undefined;
      return json(isReady ? 200 : 503, { status, hot: holdStore.kind, ledger, reason, unbilled });
    },
  });
}

async function ledgerState({ ledger }: Services, log: ThrottledLog): Promise<"ok" | "away"> {
  try {
    await ledger.ping(PING_TIMEOUT_MS);
    return "ok";
  } catch (error) {
    log.warn({ err: error }, "the ledger does not answer");
    return "away";
  }
}

function json(status: number, body: object): PlainResponse {
  return { status, headers: ["content-type", "application/json"], body: JSON.stringify(body) };
}
