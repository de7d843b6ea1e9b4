/**
 * `npm run bench -- load …` sends load to any server.
 * `npm run bench [-- scenario… --rounds N --seconds S --profile FOLDER --against FOLDER --sizes KB,KB]` runs all or the
 * named scenarios.
 */
import { availableParallelism, loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArguments, refuseArguments } from "../core/process/command-line.ts";
import { messageOf } from "../core/process/thrown.ts";
import { atScale } from "./at-scale.ts";
import { backlog } from "./backlog.ts";
import { bodies } from "./bodies.ts";
import { Children } from "./children.ts";
import { commit } from "./commit.ts";
import { cpuScenarios } from "./cpu-scenarios.ts";
import { crossings } from "./crossings.ts";
import { fullLoad } from "./full-load.ts";
import { idleProcesses } from "./idle-processes.ts";
import { idleStreams } from "./idle-streams.ts";
import { latency } from "./latency.ts";
import { loadCommand } from "./load/command.ts";
import { longLife } from "./long-life.ts";
import { positiveOption, wholeOption } from "./number-options.ts";
import { quick } from "./quick.ts";
import { redis } from "./redis.ts";
import type { Options, Scenario } from "./scenario.ts";
import { slowReaders } from "./slow-reader.ts";
import { usage } from "./usage.ts";

if (process.argv[2] === "load") process.exit(await loadCommand(process.argv.slice(3)));

const scenarios: readonly Scenario[] = [
  quick,
  ...cpuScenarios,
  redis,
  commit,
  backlog,
  latency,
  fullLoad,
  idleStreams,
  idleProcesses,
  longLife,
  atScale,
  ...slowReaders,
  bodies,
  crossings,
  usage,
];

const HELP = `npm run bench [-- scenario… --rounds N --seconds S --profile FOLDER --against FOLDER --sizes KB,KB]
npm run bench -- load --help   load of any server

${scenarios.map(({ name, about }) => `  ${name.padEnd(20)} ${about}`).join("\n")}`;

const { values, positionals } = parseArguments(HELP, {
  allowPositionals: true,
  options: {
    rounds: { type: "string" },
    seconds: { type: "string" },
    profile: { type: "string" },
    against: { type: "string" },
    sizes: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const children = new Children();
const options: Options = {
  rounds: wholeOption(HELP, "rounds", values.rounds ?? "5"),
  seconds: positiveOption(HELP, "seconds", values.seconds ?? "3"),
  warnings: machineWarnings(),
  ...(values.profile !== undefined && { profileFolder: values.profile }),
  ...(values.against !== undefined && { against: resolve(values.against) }),
  ...(values.sizes !== undefined && {
    sizesKb: values.sizes.split(",").map((size) => positiveOption(HELP, "sizes", size)),
  }),
};
const unknown = positionals.find((name) => !scenarios.some((each) => each.name === name));
if (unknown !== undefined) refuseArguments(HELP, `there is no scenario ${unknown}`);

const chosen = scenarios.filter(({ name, onRequest }) =>
  positionals.length > 0 ? positionals.includes(name) : !onRequest,
);
const fixed = chosen.find(({ hasOwnRounds }) => hasOwnRounds)?.name;
if (fixed !== undefined && (values.rounds ?? values.seconds) !== undefined) {
  refuseArguments(
    HELP,
    `${fixed} has rounds of its own: --rounds and --seconds are for the others`,
  );
}
for (const warning of options.warnings) console.log(warning);
let failed = false;
for (const scenario of chosen) {
  try {
    await scenario.run(children, options);
  } catch (error) {
    failed = true;
    console.error(`${scenario.name}: ${messageOf(error)}${causeOf(error)}`);
    await children.endAll();
  }
}
// Below the tables they are read.
for (const warning of options.warnings) console.log(`! ${warning}`);
process.exit(failed ? 1 : 0);

/** Returns what makes the figures doubtful, before a scenario adds its own load. */
function machineWarnings(): string[] {
  const [load = 0] = loadavg();
  return [
    ...(children.pinned
      ? []
      : ["Cannot pin processes to cores (one core, or no taskset): expect more noise."]),
    ...(load > availableParallelism()
      ? [`Other programs keep this machine busy (load ${load.toFixed(1)}): expect wrong times.`]
      : []),
  ];
}

/** Returns why `fetch` failed: its message does not say. */
function causeOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
}
