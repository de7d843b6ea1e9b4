import type { Log } from "../../core/process/log.ts";
import { reportThrownWork } from "../../core/process/turn.ts";
import { LuaScripts } from "./redis/lua.ts";
import { World, type WorldResult } from "./world.ts";
import type { WorldPlan } from "./world-plan.ts";

const quiet = () => {};
/** Discards logs: a world has a trace. */
const silentLog = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  isLevelEnabled: () => false,
} as unknown as Log;

interface SimulateOptions {
  readonly onTrace?: ((line: string) => void) | undefined;
  readonly log?: Log | undefined;
  /** Share one between runs, so that each script is compiled once. */
  readonly lua?: LuaScripts;
  /** See `WorldOptions`. */
  readonly untilMs?: number;
}

/** Runs one world to its end. An error that nothing handles is a violation like any other. */
export async function simulate(
  plan: WorldPlan,
  { onTrace, log = silentLog, lua = new LuaScripts(), untilMs }: SimulateOptions = {},
): Promise<WorldResult> {
  const world = new World(plan, { onTrace, log, lua, untilMs });
  const unhandled = (error: unknown) => {
    if (String(error).includes("is dead")) return;
    world.judge.violated(`unhandled: ${describe(error)}`);
  };
  reportThrownWork(unhandled);
  process.on("unhandledRejection", unhandled);
  process.on("uncaughtException", unhandled);
  try {
    return await world.run();
  } catch (error) {
    const { scheduler, judge } = world;
    return {
      violations: [describe(error)],
      hash: scheduler.hash,
      turns: scheduler.turns,
      simulatedMs: scheduler.nowMs,
      calls: judge.counts,
      charged: 0,
    };
  } finally {
    process.off("unhandledRejection", unhandled);
    process.off("uncaughtException", unhandled);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
