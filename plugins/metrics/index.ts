import {
  addOperatorRoutes,
  type Plugin,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";
import { agesOf } from "./ages.ts";
import { provideAges, provideReconciliation } from "./last-read.ts";
import { reconciliationOf } from "./reconciliation.ts";
import type { Scrapes } from "./scrape.ts";
import { SharedReading } from "./shared-reading.ts";
import { Tally } from "./tally.ts";
import { TrafficCounter } from "./traffic-counter.ts";
import { trafficCommand, trafficRoutes } from "./traffic-routes.ts";

/** Minimum time between two scrapes: one takes 2 ms, and strangers may ask for it too. */
const SCRAPE_PAUSE_MS = 50;
/** The topic by which workers ask each other for their metrics. */
const TOPIC = "metrics";

export const uses = ["operations"];
export const provides = ["gauges"];

export const options = v.strictObject({
  /** Seconds between reconciliations, by one process at a time; 0 = never. */
  reconcile_seconds: v.optional(whole(0, 86_400), 600),
});

/**
 * Counts calls and serves `GET /metrics` in Prometheus text format, for all workers; changes nothing. Counts only calls that reach it, so
 * place it first in the config.
 */
export default function metrics(
  services: Services,
  settings: v.InferOutput<typeof options>,
): Plugin {
  const tally = new Tally();
  const traffic = new TrafficCounter(services);
  const everySeconds = settings.reconcile_seconds;
  let isStopping = false;
  const reconciliation = reconciliationOf(services, everySeconds, () => isStopping);
  const ages = agesOf(services, everySeconds);
  let loading: Promise<Scrapes> | undefined;

  /** Loads prom-client with the first scrape: it takes 6 MB. */
  function scrapes(): Promise<Scrapes> {
    loading ??= import("./scrape.ts").then(({ Scrapes }) => new Scrapes(tally, services));
    return loading;
  }

  const page = new SharedReading(async () => {
    const known = await scrapes();
    try {
      const body = await known.text(await services.workers.ask(TOPIC));
      return { status: 200, headers: ["content-type", known.contentType], body };
    } catch (error) {
      services.log.warn({ err: error }, "cannot add up the metrics of the workers");
      // The counts of one worker alone would look as if the others had begun again.
      return { status: 503, headers: ["content-type", "text/plain"], body: "" };
    }
  }, SCRAPE_PAUSE_MS);

  return {
    name: "metrics",
    // Code runs from dist; SQL is read from the sources.
    migrations: new URL("../../../plugins/metrics/migrations/", import.meta.url),
    commands: [trafficCommand],

    async start() {
      provideReconciliation(services, reconciliation, everySeconds);
      provideAges(services, ages);
      if (everySeconds > 0) reconciliation.start();
      ages.start();
      traffic.start();
      // A scrape reaches any worker, which adds up the reports of all.
      services.workers.report(TOPIC, async (before) => (await scrapes()).json(before));
    },

    ended(call) {
      tally.count(call);
      traffic.count(call);
    },

    routes(router) {
      router.addRoute({
        method: "GET",
        path: "/metrics",
        forOperators: true,
        access: "public",
        handler: () => page.get(),
      });
      addOperatorRoutes(router, services, "/admin/v1", trafficRoutes(services));
    },

    async stop() {
      isStopping = true;
      await reconciliation.stop();
      await ages.stop();
      await traffic.stop();
      (await loading)?.clear();
    },
  };
}
