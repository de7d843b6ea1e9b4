import { writeFileSync } from "node:fs";
import { positiveOption, wholeOption } from "../../bench/number-options.ts";
import { parseArguments, refuseArguments } from "../../core/process/command-line.ts";
import { messageOf } from "../../core/process/thrown.ts";
import { type Builds, olderAndThis, thisAndNext } from "./builds.ts";
import type { Fault } from "./faults/fault.ts";
import { FAULTS } from "./faults/index.ts";
import { explanation, table } from "./report.ts";
import { type ChaosOptions, runChaos } from "./run.ts";

/** Exit status of a run that ended before its proof, such as one whose servers did not start: no violation. */
const NO_PROOF = 3;

const HELP = `npm run chaos -- [options]: load with faults, then the proof; exits 1 on any violation,
and 3 if it does not come to the proof

  --minutes M              how long harm is done (1)
  --seed S                 repeats the harm of another run
  --cluster                the hold store is a Redis Cluster: three primaries with replicas
  --older FOLDER           gateways run two versions: that of FOLDER, a built checkout, or of a commit; and this one.
                             They are upgraded and rolled back one by one, and upgraded in the end
  --next                   the same with this version and a next one that is made from it
  --faults-per-minute K    several at once (16)
  --gateways N             (2)
  --clients N              calls at a time (32)
  --appendfsync F          of Redis: always (the default) or everysec
  --recovery-seconds S       how long nothing but leases and backlogs may take to go (60)
  --only FAULTS            with semicolons between them, of:
${FAULTS.map(({ name, modes }) => `      ${name} (${modes.join(", ")})`).join("\n")}
  --verbose                says when each fault begins and ends
  --keep                   keeps logs, calls and faults also of a run without a violation
  --save FILE              writes the table there as well`;

/**
 * `npm run chaos`: puts gateways, Redis, Postgres and a provider under load, and kills, freezes and
 * disconnects them at random.
 */
async function main(): Promise<number> {
  const { values } = parseArguments(HELP, {
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_007) },
      cluster: { type: "boolean", default: false },
      older: { type: "string" },
      next: { type: "boolean", default: false },
      "faults-per-minute": { type: "string", default: "16" },
      gateways: { type: "string", default: "2" },
      clients: { type: "string", default: "32" },
      appendfsync: { type: "string", default: "always" },
      "recovery-seconds": { type: "string", default: "60" },
      only: { type: "string" },
      keep: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      save: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const options: ChaosOptions = {
    mode: values.cluster ? "cluster" : "single",
    minutes: positiveOption(HELP, "minutes", values.minutes),
    seed: wholeOption(HELP, "seed", values.seed),
    faultsPerMinute: positiveOption(HELP, "faults-per-minute", values["faults-per-minute"]),
    gateways: wholeOption(HELP, "gateways", values.gateways),
    lanes: wholeOption(HELP, "clients", values.clients),
    appendFsync: fsyncOf(values.appendfsync),
    faults: values.only === undefined ? FAULTS : faultsOf(values.only),
    recoverySeconds: positiveOption(HELP, "recovery-seconds", values["recovery-seconds"]),
    say: (line) => console.log(line),
    sayFaults: values.verbose,
    keepsEvidence: values.keep,
    builds: buildsOf(values),
  };
  console.log(`--seed ${options.seed} repeats the harm of this run`);
  const { builds } = options;
  const result = await runChaos(options).finally(async () => {
    await builds?.older.remove();
    await builds?.newer.remove();
  });
  const text = table(options, result);
  console.log(`\n${text}\n`);
  if (values.save !== undefined) writeFileSync(values.save, `${text}\n`);
  if (result.evidence !== undefined) console.log(explanation(result));
  return result.violations.length === 0 ? 0 : 1;
}

function fsyncOf(text: string): ChaosOptions["appendFsync"] {
  if (text === "always" || text === "everysec") return text;
  return refuseArguments(HELP, `--appendfsync must be always or everysec, not ${text}`);
}

function buildsOf(given: { older?: string; next: boolean }): Builds | undefined {
  if (given.older === undefined) return given.next ? thisAndNext() : undefined;
  try {
    return olderAndThis(given.older);
  } catch (error) {
    return refuseArguments(HELP, messageOf(error));
  }
}

function faultsOf(text: string): Fault[] {
  return text.split(";").map((name) => {
    const fault = FAULTS.find((known) => known.name === name.trim());
    return fault ?? refuseArguments(HELP, `--only: there is no fault ${name}`);
  });
}

try {
  process.exit(await main());
} catch (error) {
  console.error("the run did not come to its proof:", error);
  process.exit(NO_PROOF);
}
