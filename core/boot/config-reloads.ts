import { hostname } from "node:os";
import { formatProblems, type GatewayConfig, type loadConfig } from "../config/load.ts";
import type { ReadConfig, ReloadCause, Reloads } from "../plugin/services.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { priceListOf } from "./price-list.ts";

export type LoadConfig = () => ReturnType<typeof loadConfig>;

interface Parts {
  readonly load: LoadConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The config in effect. */
  config(): GatewayConfig;
  /** Serves new calls with another config. Resolves with the names of settings that need a restart. */
  replace(config: GatewayConfig): Promise<readonly string[]>;
}

/** Reads the config's file again, on behalf of a signal or an operator, and logs each change. */
export class ConfigReloads implements Reloads {
  cause: ReloadCause = causedBy("start");
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  prices(): ReturnType<typeof priceListOf> {
    return this.listOf(this.parts.config());
  }

  async read(): Promise<ReadConfig> {
    const next = await this.parts.load();
    if (!next.ok) {
      this.parts.log.error(
        { problems: next.problems },
        "the new config is invalid; keeping the old one",
      );
      return { ok: false, problems: formatProblems(next.problems) };
    }
    const { config } = next;
    const { models, version } = config.catalogue;
    return {
      ok: true,
      models: models.length,
      catalogueVersion: version,
      prices: this.listOf(config),
      apply: (cause) => this.apply(config, cause),
    };
  }

  /** Reads and applies the config, for a signal, which gets no reply. */
  async run(signal: string): Promise<void> {
    const next = await this.read();
    if (next.ok) await next.apply(causedBy(signal)).catch(() => undefined);
  }

  private async apply(config: GatewayConfig, cause: ReloadCause): Promise<readonly string[]> {
    const { log, replace } = this.parts;
    const { cause: before } = this;
    this.cause = cause;
    try {
      const restart = await replace(config);
      const { models, version } = config.catalogue;
      const fields = { models: models.length, catalogue_version: version };
      if (restart.length === 0) log.info(fields, "reloaded");
      else log.warn(fields, `reloaded; these need a restart: ${restart.join(", ")}`);
      return restart;
    } catch (error) {
      this.cause = before;
      log.error({ err: error }, "cannot apply the new config; keeping the old one");
      throw error;
    }
  }

  private listOf(config: GatewayConfig) {
    return priceListOf(config, config.catalogue.at(this.parts.clock.now()));
  }
}

function causedBy(operator: string): ReloadCause {
  return { operator, remoteAddress: hostname() };
}
