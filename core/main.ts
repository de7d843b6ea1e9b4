#!/usr/bin/env -S node --no-allocation-site-pretenuring --single-threaded-gc --max-semi-space-size=16
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatProblems, loadConfig } from "./config/load.ts";
import { configWarnings } from "./config/plugins.ts";
import { announced } from "./process/announced.ts";
import { parseArguments, refuseArguments } from "./process/command-line.ts";
import { announceFailpoint } from "./process/failpoint.ts";
import { keepFreedMemory } from "./process/free-memory.ts";
import { createLog } from "./process/log.ts";
import { packageRoot, program } from "./process/root.ts";
import { isWorker, superviseWorkers, whenOrphaned } from "./process/supervisor.ts";
import { isTerminalClosing } from "./process/terminal.ts";
import { messageOf } from "./process/thrown.ts";
import { reportThrownWork } from "./process/turn.ts";
import { SupervisedWorkers } from "./process/workers.ts";

/**
 * How long a stop may take in addition to the time in which running calls may finish: for commits, and for connections
 * that close.
 */
const STOP_MS = 60_000;

const HELP = `Usage: npm start -- [options]      (installed as a package: npx tollgate [options])

Runs the gateway in the foreground. SIGTERM stops it after calls in flight, and so does its terminal if that is closed; SIGHUP
reads the config again. npx passes no signal on: a service starts node_modules/.bin/tollgate.

  -c, --config FILE  the config; default: config/gateway.yaml, which needs nothing else
      --check        checks the config, its catalogue and plugins, and starts nothing
      --reach        with --check: also tries the data folder, the ports and the stores
  -h, --help         prints this text
      --version      prints the version`;

const OPTIONS = {
  config: { type: "string", short: "c" },
  check: { type: "boolean" },
  reach: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/**
 * `npm start -- --config FILE`: runs the gateway in the foreground until SIGTERM; SIGHUP reloads the config.
 * If `listen.workers` is above 1, this process only starts and supervises the workers.
 */
async function main(): Promise<void> {
  const kept = program.keptByNpm(Object.keys(OPTIONS), process.argv.slice(2), process.env);
  if (kept !== undefined) refuseArguments(HELP, kept);
  const { values: options } = parseArguments(HELP, { options: OPTIONS });
  if (options.version) return console.log(program.version);
  const file = options.config ?? join(packageRoot, "config", "gateway.yaml");
  const reloadsLater = heldReload();
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) return fail(formatProblems(loaded.problems));
  const { config } = loaded;
  const started = endableStart();
  if (options.check) {
    for (const line of configWarnings(config)) console.log(line);
    if (options.reach) {
      const { reachFaults } = await import("./boot/preflight.ts");
      const faults = await reachFaults(config);
      if (faults.length > 0) return fail(faults.join("\n"));
    }
    return console.log(`${file}: no errors; ${config.catalogue.models.length} models are offered`);
  }
  const { workers: workerCount } = config.listen;
  const log = createLog(config.log.level);
  if (!isWorker()) {
    const { preflight } = await import("./boot/preflight.ts");
    const warnings = await announced(log, "the stores to be reached", preflight(config));
    if (warnings.length > 0) log.warn(warnings.join("; "));
  }
  if (workerCount > 1 && !isWorker()) {
    const script = fileURLToPath(import.meta.url);
    const args = process.argv.slice(2);
    const ended = superviseWorkers({ script, args, workers: workerCount, log });
    started();
    // The workers have not read the config yet.
    reloadsLater();
    process.exit(await ended);
  }

  keepFreedMemory();
  const { Gateway } = await import("./boot/gateway.ts");
  announceFailpoint(log);
  const workers = isWorker() ? new SupervisedWorkers() : undefined;
  const load = () => loadConfig(file, process.env, { isServing: true });
  const gateway = await Gateway.start(config, log, undefined, workers, load);

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    const limitMs = gateway.services.config.limits.drainMs + STOP_MS;
    log.info({ signal, limitMs }, "stopping; calls in flight may finish");
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
  started();
  if (isWorker()) whenOrphaned(() => void stop("the supervisor died"));
  const reload = () => void (isTerminalClosing() ? stop("SIGHUP") : gateway.reloads.run("SIGHUP"));
  process.on("SIGHUP", reload);
  if (reloadsLater()) reload();
  reportThrownWork((error) => log.error({ err: error }, "a step of a call threw"));
  process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled rejection"));
}

/**
 * Ends the process at SIGTERM or SIGINT until the start is complete, which the returned function says. As the first
 * process of a container, one that handles no signal ignores them. Call it after the next handlers are set: Node drops a
 * signal whose only handler is removed before the event loop turns, even if another is set at once.
 */
function endableStart(): () => void {
  const end = (signal: string): never => {
    process.stderr.write(`${signal}: ended before the start was complete\n`);
    process.exit(0);
  };
  process.on("SIGTERM", end).on("SIGINT", end);
  return () => process.off("SIGTERM", end).off("SIGINT", end);
}

/**
 * Keeps a SIGHUP from ending the process while it starts; that of a closed terminal ends it. Once the next handler is set,
 * call the returned function: it returns true if one came, which the config that was read may have missed.
 */
function heldReload(): () => boolean {
  let came = false;
  const hold = () => {
    if (isTerminalClosing()) process.exit(0);
    came = true;
  };
  process.on("SIGHUP", hold);
  return () => {
    process.off("SIGHUP", hold);
    return came;
  };
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

main().catch((error: unknown) => fail(messageOf(error)));
