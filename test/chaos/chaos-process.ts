import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const SHORT = ["--seed", "7", "--clients", "8", "--faults-per-minute", "80"];
/** Longer than for a run alone: other tests share the machine. */
const RECOVERY = ["--recovery-seconds", "300"];
/** A busy machine may make too few calls in the first run; the later runs give it more time. */
const MINUTES = ["0.15", "0.5", "1.5"];

/** A run of `npm run chaos` in a process of its own. */
export interface Run {
  readonly code: number;
  readonly output: string;
  /** The output, with its violations first: the log of a test run keeps only the start of a message. */
  readonly report: string;
}

/** Exit status of a run that ended before its proof, as on a machine that is too busy to start its servers. */
const NO_PROOF = 3;

/** Runs chaos of the checkout `root` for longer each time, until `isEnough` is true of a run with a proof. */
export async function chaosUntil(
  root: string,
  args: readonly string[],
  isEnough: (run: Run) => boolean,
) {
  let run: Run = { code: -1, output: "", report: "" };
  for (const minutes of MINUTES) {
    run = await chaos(root, [...SHORT, ...RECOVERY, "--minutes", minutes, ...args]);
    if (run.code !== NO_PROOF && isEnough(run)) break;
  }
  return run;
}

async function chaos(root: string, args: readonly string[]): Promise<Run> {
  const program = join(root, "dist", "test", "chaos", "index.js");
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "exit");
  const violations = Math.max(0, output.indexOf("| **violations**"));
  return { code, output, report: output.slice(violations) + output.slice(0, violations) };
}
