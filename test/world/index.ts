import { setImmediate as endOfTurn } from "node:timers/promises";
import { refuseArguments } from "../../core/process/command-line.ts";
import { HELP, type Options, parseOptions, WrongOption } from "./options.ts";
import { plantedSimulation } from "./plants/planted.ts";
import { PLANTS } from "./plants/plants.ts";
import { LuaScripts } from "./redis/lua.ts";
import { simulate as simulateAsIs } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

const SHOWN_MAX = 8;
const PROGRESS_EVERY_MS = 30_000;

/** `npm run simulate`: see `--help`. Prints each seed that ends in a violation, and exits 1 if there is one. */
async function main(options: Options): Promise<number> {
  const { firstSeed, seeds } = options;
  const plant = options.plant === undefined ? undefined : PLANTS[options.plant];
  const simulate = await simulationOf(options.plant);
  const { gateways, calls } = options;
  const { store, faults } = options;
  const focus = options.focus && plant ? plant : { store, faults };
  const lua = new LuaScripts();
  const startedMs = performance.now();
  const total = { failed: 0, calls: 0, charged: 0, turns: 0, simulatedMs: 0 };
  let run = 0;
  let shownMs = startedMs;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const plan = planWorld(seed, { ...focus, gateways, calls });
    const onTrace = options.trace ? (line: string) => console.log(line) : undefined;
    const result = await simulate(plan, { onTrace, lua });
    run += 1;
    // A world runs in one turn of the event loop. Before its end nothing that a weak reference names is collected.
    await endOfTurn();
    total.calls += Object.values(result.calls).reduce((sum, each) => sum + each, 0);
    total.charged += result.charged;
    total.turns += result.turns;
    total.simulatedMs += result.simulatedMs;
    if (options.hash) console.log(`seed ${seed}: ${result.hash}`);
    if (result.violations.length > 0) total.failed += 1;
    if (performance.now() > shownMs + PROGRESS_EVERY_MS) {
      shownMs = performance.now();
      console.error(`${run} of ${seeds} seeds, ${total.failed} with violations`);
    }
    if (result.violations.length === 0) continue;
    console.log(`\nseed ${seed}: ${describePlan(plan)}`);
    for (const violation of result.violations.slice(0, SHOWN_MAX)) console.log(`  ${violation}`);
    const more = result.violations.length - SHOWN_MAX;
    if (more > 0) console.log(`  … and ${more} more`);
    if (options.first) break;
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `\n${run} ${run === 1 ? "seed" : "seeds"} in ${seconds.toFixed(1)} s (${(run / seconds).toFixed(1)} a second): ` +
      `${total.calls} calls, ${total.charged} charged, ${total.turns} turns, ` +
      `${(total.simulatedMs / 3_600_000).toFixed(2)} simulated hours, ${total.failed} seeds with violations`,
  );
  return total.failed > 0 ? 1 : 0;
}

async function simulationOf(plant: string | undefined): Promise<typeof simulateAsIs> {
  if (plant === undefined) return simulateAsIs;
  const { simulate } = await plantedSimulation(plant);
  return simulate;
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) console.log(HELP);
  else process.exitCode = await main(options);
} catch (error) {
  if (!(error instanceof WrongOption)) throw error;
  refuseArguments(HELP, error.message);
}
