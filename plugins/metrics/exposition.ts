import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { MICRO_VND_PER_VND, program, type Services } from "../../core/plugin/index.ts";
import { addGauges } from "./gauges.ts";
import { calls, type Series, type Tally } from "./tally.ts";

const BY_MODEL = ["endpoint", "model"] as const;

/** Creates the registry of this process's metrics. Each scrape fills it from the tally. */
export function createRegistry(tally: Tally, services: Services): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges of prom-client that are named like counters.
  for (const what of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  addBuild(registry);
  addCalls(registry, tally);
  addRefusals(registry, tally);
  tally.attempts.addTo(registry);
  addSums(registry, tally);
  addGauges(registry, services);
  return registry;
}

function addBuild(registry: Registry): void {
  const build = new Gauge({
    name: "tollgate_build_info",
    help: "Always 1; the labels say which version serves, and on which Node.",
    labelNames: ["version", "node"],
    registers: [registry],
    aggregator: "first",
  });
  build.set({ version: program.version, node: process.versions.node }, 1);
}

/** Returns the counters and gauges of other plugins. They change with a reload, so each scrape reads them again. */
export function registryOfPlugins({ counters, gauges }: Services): Registry {
  const registry = new Registry();
  for (const { name, help, value } of gauges.all) {
    const gauge = new Gauge({ name, help, registers: [registry], aggregator: "max" });
    const last = value();
    if (last === undefined) gauge.remove();
    else gauge.set(last);
  }
  for (const { name, help, label, counts } of counters.all) {
    const counter = new Counter({ name, help, labelNames: [label], registers: [registry] });
    for (const [value, count] of Object.entries(counts())) counter.inc({ [label]: value }, count);
  }
  return registry;
}

function addCalls(registry: Registry, tally: Tally): void {
  new Counter({
    name: "tollgate_calls_total",
    help: "Finished calls, by HTTP status and outcome.",
    labelNames: [...BY_MODEL, "status", "outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const series of tally.series()) {
        const { endpoint, model } = series;
        for (const { status, outcome, count } of calls(series)) {
          this.inc({ endpoint, model, status, outcome }, count);
        }
      }
    },
  });
}

function addRefusals(registry: Registry, tally: Tally): void {
  new Counter({
    name: "tollgate_refusals_total",
    help: "Refused calls, by error type; `upstream` if the provider refused.",
    labelNames: [...BY_MODEL, "type"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { endpoint, model, refused } of tally.series()) {
        for (const [type, count] of refused) this.inc({ endpoint, model, type }, count);
      }
    },
  });
}

function addSums(registry: Registry, tally: Tally): void {
  const sum = (name: string, help: string, read: (series: Series) => number) =>
    new Counter({
      name,
      help,
      labelNames: BY_MODEL,
      registers: [registry],
      collect() {
        this.reset();
        for (const series of tally.series()) {
          const { endpoint, model } = series;
          this.inc({ endpoint, model }, read(series));
        }
      },
    });
  sum("tollgate_input_tokens_total", "Input tokens of served calls.", (s) => s.inputTokens);
  sum("tollgate_output_tokens_total", "Output tokens of served calls.", (s) => s.outputTokens);
  sum(
    "tollgate_charged_vnd_total",
    "Amount charged for calls, in đ.",
    (s) => s.chargedMicroVnd / MICRO_VND_PER_VND,
  );
  sum(
    "tollgate_written_off_vnd_total",
    "The part of the cost of calls that their wallets did not cover, in đ.",
    (s) => s.writtenOffMicroVnd / MICRO_VND_PER_VND,
  );
  sum(
    "tollgate_estimated_usages_total",
    "Calls whose usage was estimated because the provider did not report it.",
    (s) => s.estimated,
  );
  sum(
    "tollgate_left_uncounted_calls_total",
    "Calls that were cancelled after their clients had left, before the provider reported what it bills.",
    (s) => s.leftUncounted,
  );
  sum(
    "tollgate_left_uncharged_vnd_total",
    "The amount that was held for these calls and not charged, in đ: the most that their uncounted output may be worth.",
    (s) => s.leftUnchargedMicroVnd / MICRO_VND_PER_VND,
  );
  sum(
    "tollgate_unsold_uses_total",
    "Calls whose provider reports the use of a feature that is not sold.",
    (s) => s.unsold,
  );
  sum(
    "tollgate_bounded_calls_total",
    "Calls whose reported input was compared with the bound that money was held for.",
    (s) => s.bounded,
  );
  sum(
    "tollgate_over_bound_calls_total",
    "Compared calls whose provider reported more input than their bound.",
    (s) => s.overBound,
  );
  sum("tollgate_bound_tokens_total", "Bounds of compared calls, in tokens.", (s) => s.boundTokens);
  sum(
    "tollgate_bounded_input_tokens_total",
    "Reported input of compared calls, in tokens.",
    (s) => s.reportedTokens,
  );
}
