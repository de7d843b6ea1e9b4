import { parseArgs } from "node:util";
import { PLANTS } from "./plants/plants.ts";
import { registerPlant } from "./plants/register.ts";
import { describePlan, FAULTS, type FaultName, planWorld, type StoreKind } from "./world-plan.ts";

/**
 * `npm run simulate -- --seeds 1000 [--from 1] [--store redis] [--calls 300] [--faults kill=2000,redisCut=500]`, or
 * `--seed 7 --trace`. Prints each seed that ends in a violation, and exits 1 if there is one; `--first` stops there.
 * `--plant NAME` runs with a bug of `plants/plants.ts`, and `--focus` with the faults that bring it to light.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    store: { type: "string" },
    calls: { type: "string" },
    faults: { type: "string" },
    trace: { type: "boolean", default: false },
    hash: { type: "boolean", default: false },
    plant: { type: "string" },
    focus: { type: "boolean", default: false },
    first: { type: "boolean", default: false },
  },
});

const STORES: readonly StoreKind[] = ["embedded", "redis"];
const SHOWN_MAX = 8;

/** Parses `kill=2000,redisCut=500`: only these faults, each with the mean time in ms between two of its kind. */
function faultsOf(text: string | undefined): Partial<Record<FaultName, number>> | undefined {
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => pair.split("="));
  const unknown = pairs.find(([name]) => !FAULTS.some((fault) => fault === name));
  if (unknown) throw new Error(`no fault ${unknown[0]}; there are ${FAULTS.join(", ")}`);
  return Object.fromEntries(pairs.map(([name, everyMs = "5000"]) => [name, Number(everyMs)]));
}

async function main(): Promise<void> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const plant = values.plant === undefined ? undefined : PLANTS[values.plant];
  if (values.plant !== undefined) registerPlant(values.plant);
  // Imported only now: a bug is planted into modules loaded after it was registered.
  const [{ LuaScripts }, { simulate }] = await Promise.all([
    import("./redis/lua.ts"),
    import("./simulate.ts"),
  ]);
  const wished = values.focus ? plant?.store : values.store;
  const store = STORES.find((kind) => kind === wished);
  const faults = values.focus ? plant?.faults : faultsOf(values.faults);
  const calls = values.calls === undefined ? undefined : Number(values.calls);
  const movements = values.focus ? plant?.movements : undefined;
  const lua = new LuaScripts();
  const startedMs = performance.now();
  const total = { failed: 0, calls: 0, charged: 0, turns: 0, simulatedMs: 0 };
  for (let seed = first; seed < first + count; seed += 1) {
    const plan = planWorld(seed, { store, calls, movements, faults });
    const onTrace = values.trace ? (line: string) => console.log(line) : undefined;
    const result = await simulate(plan, { onTrace, lua });
    total.calls += Object.values(result.calls).reduce((sum, each) => sum + each, 0);
    total.charged += result.charged;
    total.turns += result.turns;
    total.simulatedMs += result.simulatedMs;
    if (values.hash || values.seed !== undefined) console.log(`seed ${seed}: ${result.hash}`);
    if (result.violations.length === 0) continue;
    total.failed += 1;
    console.log(`\nseed ${seed}: ${describePlan(plan)}`);
    for (const violation of result.violations.slice(0, SHOWN_MAX)) console.log(`  ${violation}`);
    const more = result.violations.length - SHOWN_MAX;
    if (more > 0) console.log(`  … and ${more} more`);
    if (values.first) break;
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `\n${count} seeds in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)} a second): ` +
      `${total.calls} calls, ${total.charged} charged, ${total.turns} turns, ` +
      `${(total.simulatedMs / 3_600_000).toFixed(2)} simulated hours, ${total.failed} seeds with violations`,
  );
  process.exitCode = total.failed > 0 ? 1 : 0;
}

await main();
