#!/usr/bin/env node
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { formatProblems, loadConfig } from "./config/load.ts";
import { announceFailpoint } from "./process/failpoint.ts";
import { createLog } from "./process/log.ts";
import { packageRoot } from "./process/root.ts";
import { isWorker, superviseWorkers, whenOrphaned } from "./process/supervisor.ts";
import { Watchdog } from "./process/watchdog.ts";

/** What a stop may take beyond the time that running calls may finish in: commits, and connections that close. */
const STOP_MS = 60_000;

/**
 * `npm start -- --config FILE`: runs the gateway in the foreground until SIGTERM; SIGHUP reloads the config.
 * If `listen.workers` is above 1, this process only starts and supervises the workers.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { config: { type: "string", short: "c" } } });
  const file = values.config ?? join(packageRoot, "config", "gateway.yaml");
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) return fail(formatProblems(loaded.problems));
  const { config } = loaded;
  const { workers } = config.listen;
  if (workers > 1 && !isWorker()) {
    const script = fileURLToPath(import.meta.url);
    const args = process.argv.slice(2);
    const code = await superviseWorkers({
      script,
      args,
      workers,
      log: createLog(config.log.level),
    });
    process.exit(code);
  }

  // uWebSockets.js reads this limit when it is imported, so `boot.ts` is imported after it.
  process.env["UWS_HTTP_MAX_HEADERS_SIZE"] = String(config.limits.headerBytesMax);
  const { boot } = await import("./boot/boot.ts");
  const log = createLog(config.log.level);
  announceFailpoint(log);
  const watchdog = new Watchdog();
  const gateway = await boot(config, log);
  watchdog.arm();

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping; calls in flight may finish");
    const limitMs = config.limits.drainMs + STOP_MS;
    setTimeout(() => {
      log.error({ limitMs }, "cannot stop in time; ending now");
      process.exit(1);
    }, limitMs).unref();
    try {
      await gateway.stop();
    } catch (error) {
      log.error({ err: error }, "cannot stop cleanly; exiting with 1");
      process.exit(1);
    }
    process.exit(0);
  };
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", (signal) => void stop(signal));
  if (isWorker()) whenOrphaned(() => void stop("the supervisor died"));
  process.on("SIGHUP", async () => {
    const next = await loadConfig(file, process.env);
    if (!next.ok) {
      log.error({ problems: next.problems }, "the new config is invalid; keeping the old one");
      return;
    }
    try {
      const restart = await gateway.reload(next.config);
      const { models, version } = next.config.catalogue;
      const fields = { models: models.length, catalogue_version: version };
      if (restart.length === 0) log.info(fields, "reloaded");
      else log.warn(fields, `reloaded; these need a restart: ${restart.join(", ")}`);
    } catch (error) {
      log.error({ err: error }, "cannot apply the new config; keeping the old one");
    }
  });
  process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled rejection"));
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));
