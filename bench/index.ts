/**
 * `npm run bench [-- scenario… --rounds N --seconds S --profile FOLDER --against FOLDER --sizes KB,KB]`: runs
 * all or the named scenarios.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { backlog } from "./backlog.ts";
import { bodies } from "./bodies.ts";
import { Children } from "./children.ts";
import { commit } from "./commit.ts";
import { cpuScenarios } from "./cpu-scenarios.ts";
import { crossings } from "./crossings.ts";
import { fullLoad } from "./full-load.ts";
import { idleStreams } from "./idle-streams.ts";
import { latency } from "./latency.ts";
import { redis } from "./redis.ts";
import type { Options, Scenario } from "./scenario.ts";
import { slowReaders } from "./slow-reader.ts";
import { usage } from "./usage.ts";

const scenarios: readonly Scenario[] = [
  ...cpuScenarios,
  redis,
  commit,
  backlog,
  latency,
  fullLoad,
  idleStreams,
  ...slowReaders,
  bodies,
  crossings,
  usage,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    profile: { type: "string" },
    against: { type: "string" },
    sizes: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const options: Options = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  ...(values.profile !== undefined && { profileFolder: values.profile }),
  ...(values.against !== undefined && { against: resolve(values.against) }),
  ...(values.sizes !== undefined && { sizesKb: values.sizes.split(",").map(Number) }),
};
const unknown = positionals.filter((name) => !scenarios.some((each) => each.name === name));

if (values.help || unknown.length > 0 || !(options.rounds >= 1) || !(options.seconds > 0)) {
  for (const name of unknown)
    console.error(`Unknown scenario ${name}. Choose one of the list below.`);
  console.error(
    "npm run bench [-- scenario… --rounds N --seconds S --profile FOLDER --against FOLDER --sizes KB,KB]\n",
  );
  for (const { name, about } of scenarios) console.error(`  ${name.padEnd(20)} ${about}`);
  process.exit(values.help ? 0 : 2);
}

const chosen = scenarios.filter(({ name, onRequest }) =>
  positionals.length > 0 ? positionals.includes(name) : !onRequest,
);
const children = new Children();
if (!children.pinned) {
  console.log("Cannot pin processes to cores (one core, or no taskset): expect more noise.");
}
let failed = false;
for (const scenario of chosen) {
  try {
    await scenario.run(children, options);
  } catch (error) {
    failed = true;
    console.error(`${scenario.name}: ${error instanceof Error ? error.message : error}`);
    await children.endAll();
  }
}
process.exit(failed ? 1 : 0);
