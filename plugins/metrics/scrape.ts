import type { Registry } from "prom-client";
import type { Services } from "../../core/plugin/index.ts";
import { createRegistry, registryOfPlugins } from "./exposition.ts";
import { type Metric, silentOf, sumText } from "./sum.ts";
import type { Tally } from "./tally.ts";

/** The counts of this process, and of all workers together. */
export class Scrapes {
  private readonly registry: Registry;
  private silentWorkers = 0;

  constructor(
    private readonly tally: Tally,
    private readonly services: Services,
  ) {
    this.registry = createRegistry(tally, services, () => this.silentWorkers);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Returns the text of a scrape, with the counts of the other workers if there are any. */
  async text(
    reports: NonNullable<Awaited<ReturnType<Services["workers"]["ask"]>>> | undefined,
  ): Promise<string> {
    this.silentWorkers = silentOf(reports);
    if (reports) return sumText(await this.json(), reports);
    const { tally, registry, services } = this;
    const ofPlugins = registryOfPlugins(services);
    const texts = [await registry.metrics(), ...tally.distributions.map((each) => each.text())];
    return [...texts, await ofPlugins.metrics()].join("\n");
  }

  clear(): void {
    this.registry.clear();
  }

  async json(): Promise<Metric[]> {
    const { tally, registry, services } = this;
    const ofPlugins = registryOfPlugins(services);
    const known = [await registry.getMetricsAsJSON(), await ofPlugins.getMetricsAsJSON()].flat();
    // The declared types of prom-client say that the name of a type is a number.
    const distributions = tally.distributions.map((each) => each.json());
    return [...(known as unknown as Metric[]), ...distributions];
  }
}
