import { positiveOption } from "../../bench/number-options.ts";
import { parseArguments, refuseArguments } from "../../core/process/command-line.ts";
import { ATTACKS } from "./attacks.ts";
import { type AttackResult, runAttack, startAttacked } from "./run.ts";

const MB = 1_048_576;
const PEAK_BYTES_MAX = 1024 * MB;
const REPLIES_SHOWN = 4;
const HELP = `npm run attack -- [options] [NAME…]: attacks a gateway beside an honest client; exits 1 if it dies,
takes 1 GB, or fails the honest client

  --seconds S    how long each attack goes on (20)

${ATTACKS.map(({ name, what }) => `  ${name.padEnd(16)} ${what}`).join("\n")}`;

async function main(): Promise<number> {
  const { values, positionals } = parseArguments(HELP, {
    options: {
      seconds: { type: "string", default: "20" },
      help: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const unknown = positionals.find((name) => !ATTACKS.some((attack) => attack.name === name));
  if (unknown !== undefined) refuseArguments(HELP, `there is no attack ${unknown}`);
  const seconds = positiveOption(HELP, "seconds", values.seconds);
  const chosen = ATTACKS.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  console.log("| attack | replies | longest stall | honest p50, p99 | honest errors | peak |");
  console.log("|---|---|---|---|---|---|");
  let failed = false;
  for (const attack of chosen) {
    // Each attack gets a new process, so that its peak is its own.
    const attacked = await startAttacked();
    try {
      const result = await runAttack(attacked.gateway, attack, seconds);
      console.log(rowOf(result));
      const { survived, peakBytes, honest } = result;
      const errors = Object.keys(honest.errors).length;
      failed ||= !survived || peakBytes > PEAK_BYTES_MAX || errors > 0;
    } finally {
      await attacked.close();
    }
  }
  return failed ? 1 : 0;
}

function rowOf({ attack, survived, replies, honest, peakBytes }: AttackResult): string {
  const sorted = [...replies].sort(([, a], [, b]) => b - a).slice(0, REPLIES_SHOWN);
  const shown = sorted.map(([reply, count]) => `${count} × ${reply}`).join(", ") || "nothing";
  const errors = Object.entries(honest.errors).map(([error, count]) => `${count} × ${error}`);
  const times = `${Math.round(honest.p50Ms)}, ${Math.round(honest.p99Ms)} ms`;
  const cells = [
    attack.name,
    shown,
    `${Math.round(honest.stallMs)} ms`,
    times,
    `${errors.join(", ") || "none"} of ${honest.calls}`,
    survived ? `${Math.round(peakBytes / MB)} MB` : "**died**",
  ];
  return `| ${cells.join(" | ")} |`;
}

process.exit(await main());
