import type { Registry } from "prom-client";
import {
  type Plugin,
  type Services,
  UNREAD_BODY_BYTES_MAX,
  v,
  whole,
} from "../../core/contract/index.ts";
import { Ages } from "./ages.ts";
import { Reconciliation } from "./reconciliation.ts";
import { Tally } from "./tally.ts";

export const options = v.strictObject({
  /** Seconds between reconciliations, by one process at a time; 0 = never. */
  reconcile_seconds: v.optional(whole(0, 86_400), 600),
});

/**
 * Counts calls and serves `GET /metrics` in Prometheus text format; changes nothing. Counts only calls that reach it, so
 * place it first in the config.
 */
export default function metrics(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const tally = new Tally();
  const reconciliation = new Reconciliation(services, settings.reconcile_seconds);
  const ages = new Ages(services, settings.reconcile_seconds);
  let registry: Promise<Registry> | undefined;

  /** Loads prom-client with the first scrape: it takes 6 MB. */
  function exposed(): Promise<Registry> {
    registry ??= import("./exposition.ts").then(({ createRegistry }) =>
      createRegistry(tally, reconciliation, ages, services),
    );
    return registry;
  }

  return {
    name: "metrics",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/metrics/migrations/", import.meta.url),

    async start() {
      reconciliation.start();
      ages.start();
    },

    ended(call) {
      tally.count(call);
    },

    routes(router) {
      router.add({
        method: "GET",
        path: "/metrics",
        forOperators: true,
        access: "public",
        bodyBytesMax: UNREAD_BODY_BYTES_MAX,
        handler: async () => {
          const known = await exposed();
          const { countersText } = await import("./exposition.ts");
          const texts = [
            await known.metrics(),
            tally.latency.text(),
            tally.firstByte.text(),
            await countersText(services.counters.all),
          ];
          return {
            status: 200,
            headers: ["content-type", known.contentType],
            body: texts.join("\n"),
          };
        },
      });
    },

    async stop() {
      await reconciliation.stop();
      await ages.stop();
      (await registry)?.clear();
    },
  };
}
