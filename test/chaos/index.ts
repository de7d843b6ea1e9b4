import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { DEEDS, type Deed } from "./director.ts";
import { explanation, table } from "./report.ts";
import { type ChaosOptions, runChaos } from "./run.ts";

const HELP = `npm run chaos -- [options]: load with kills, then the proof; exits 1 on any violation

  --minutes M              how long harm is done (1)
  --seed S                 repeats the harm of another run
  --kills-per-minute K     beside which there are freezes, cuts and wipes (8)
  --gateways N             (2)
  --clients N              calls at a time (32)
  --appendfsync F          of Redis: always (the default) or everysec
  --recovery-seconds S       how long nothing but leases and backlogs may take to go (60)
  --only DEEDS             with commas between them, of: ${DEEDS.join(", ")}
  --save FILE              writes the table there as well`;

/**
 * `npm run chaos`: puts gateways, Redis, Postgres and a provider under load, and kills, freezes and
 * disconnects them at random.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_007) },
      "kills-per-minute": { type: "string", default: "8" },
      gateways: { type: "string", default: "2" },
      clients: { type: "string", default: "32" },
      appendfsync: { type: "string", default: "always" },
      "recovery-seconds": { type: "string", default: "60" },
      only: { type: "string", default: DEEDS.join(",") },
      save: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const options: ChaosOptions = {
    minutes: positive("minutes", values.minutes),
    seed: positive("seed", values.seed),
    killsPerMinute: positive("kills-per-minute", values["kills-per-minute"]),
    gateways: positive("gateways", values.gateways),
    lanes: positive("clients", values.clients),
    appendFsync: values.appendfsync === "everysec" ? "everysec" : "always",
    deeds: deedsOf(values.only),
    recoverySeconds: positive("recovery-seconds", values["recovery-seconds"]),
    say: (line) => console.log(line),
  };
  console.log(`--seed ${options.seed} repeats the harm of this run`);
  const result = await runChaos(options);
  const text = table(options, result);
  console.log(`\n${text}\n`);
  if (values.save !== undefined) writeFileSync(values.save, `${text}\n`);
  if (result.violations.length === 0) return 0;
  console.log(explanation(result));
  return 1;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0, not ${text}`);
  return value;
}

function deedsOf(text: string): Deed[] {
  return text.split(",").map((name) => {
    const deed = DEEDS.find((known) => known === name.trim());
    if (deed === undefined) throw new Error(`--only: ${name} is none of: ${DEEDS.join(", ")}`);
    return deed;
  });
}

process.exit(await main());
