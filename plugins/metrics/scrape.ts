import type { Registry } from "prom-client";
import type { Services } from "../../core/plugin/index.ts";
import { createRegistry, registryOfPlugins } from "./exposition.ts";
import { type Metric, silentOf, sumText, withCountsOf } from "./sum.ts";
import type { Tally } from "./tally.ts";

const SILENT = `# HELP tollgate_silent_workers Workers that have not reported in time, or have died; these numbers have their last report, if any.
# TYPE tollgate_silent_workers gauge
tollgate_silent_workers`;

/** The counts of this process, and of all workers together. */
export class Scrapes {
  private readonly registry: Registry;

  constructor(
    private readonly tally: Tally,
    private readonly services: Services,
  ) {
    this.registry = createRegistry(tally, services);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Returns the text of a scrape, with the counts of all workers if there are any. */
  async text(reports: Awaited<ReturnType<Services["workers"]["ask"]>>): Promise<string> {
    return `${await (reports ? sumText(reports) : this.ownText())}\n${SILENT} ${silentOf(reports)}\n`;
  }

  clear(): void {
    this.registry.clear();
  }

  /** Returns the report of this worker. `before`: that of the one whose place it takes. */
  async json(before: unknown): Promise<readonly Metric[]> {
    const { tally, registry, services } = this;
    const ofPlugins = registryOfPlugins(services);
    const known = [await registry.getMetricsAsJSON(), await ofPlugins.getMetricsAsJSON()].flat();
    // The declared types of prom-client say that the name of a type is a number.
    const distributions = tally.distributions.map((each) => each.json());
    return withCountsOf(before, [...(known as unknown as Metric[]), ...distributions]);
  }

  private async ownText(): Promise<string> {
    const { tally, registry, services } = this;
    const ofPlugins = registryOfPlugins(services);
    const texts = [await registry.metrics(), ...tally.distributions.map((each) => each.text())];
    return [...texts, await ofPlugins.metrics()].join("\n");
  }
}
