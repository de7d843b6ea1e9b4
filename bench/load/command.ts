import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { parseVnd } from "../../core/catalogue/amount.ts";
import { isObject } from "../../core/process/json.ts";
import { limitOf } from "./bounds.ts";
import type { Job, Report } from "./job.ts";
import { type Loop, startClosedLoop, startOpenLoop } from "./loops.ts";
import { type LoadOptions, loadOptionsOf } from "./options.ts";
import { reportPage } from "./report-page.ts";
import { type Charges, type Run, showCount, showTime } from "./run.ts";
import { printRun } from "./summary.ts";

/** The gateway books a call a moment after its reply. */
const BOOKED_WITHIN_MS = 15_000;
const BALANCE_STEP_MS = 250;
const BALANCE_TIMEOUT_MS = 5_000;
/** The exit status of a program that Ctrl-C ended. */
const STOPPED = 130;

/** `npm run bench -- load`: runs the load of the command line. Returns the exit status. */
export async function loadCommand(args: string[]): Promise<number> {
  const options = loadOptionsOf(args);
  const before = await balanceOf(options);
  const startedAt = new Date().toISOString();
  const { report, stoppedEarly } = await runWithLine(options.job);
  const charges = before && (await chargesOf(options, before, report));
  const { url, name, call, load, job, bounds, earlier } = options;
  const run: Run = {
    ...{ name, startedAt, url, call, load, isOpenLoop: job.rate !== undefined, stoppedEarly },
    ...{ report, charges, limits: bounds.map((bound) => limitOf(bound, report, charges)) },
  };
  printRun(run, earlier);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(run, null, 2)}\n`);
  if (options.html !== undefined) {
    writeFileSync(options.html, reportPage(earlier ? [run, earlier] : [run]));
    console.log(`\nreport: ${options.html}`);
  }
  if (stoppedEarly) return STOPPED;
  return run.limits.every(({ isKept }) => isKept) ? 0 : 1;
}

/** Runs a job, and shows a line about its last second each second. Ctrl-C ends it early, a second one at once. */
async function runWithLine(job: Job): Promise<{ report: Report; stoppedEarly: boolean }> {
  const { rate } = job;
  const loop = rate === undefined ? startClosedLoop(job) : startOpenLoop({ ...job, rate });
  const { isTTY } = process.stderr;
  let stoppedEarly = false;
  const stop = () => {
    stoppedEarly = true;
    loop.stop();
  };
  process.once("SIGINT", stop);
  const line = setInterval(() => {
    const text = lineOf(loop);
    if (text === "") return;
    process.stderr.write(isTTY ? `\r\x1b[2K${text}` : `${text}\n`);
  }, 1_000);
  const report = await loop.report;
  clearInterval(line);
  process.off("SIGINT", stop);
  if (isTTY) process.stderr.write("\r\x1b[2K");
  return { report, stoppedEarly };
}

function lineOf({ counter, waiting }: Loop): string {
  const seconds = counter.seconds();
  const last = seconds.at(-1);
  if (!last) return "";
  const { busy } = counter.health;
  const cells = [
    `${seconds.length} s`.padStart(7),
    `${showCount(last.calls)} ok/s`.padStart(11),
    `${showCount(last.errors)} failed`.padStart(12),
    last.calls > 0 ? `p50 ${showTime(last.p50Us)}`.padEnd(12) : "",
    last.calls > 0 ? `p99 ${showTime(last.p99Us)}`.padEnd(12) : "",
    `${showCount(waiting())} in flight`,
    ...(busy > 0.5 ? [`generator ${Math.round(busy * 100)} % busy`] : []),
  ];
  return cells.join("  ");
}

interface Balance {
  readonly micro: bigint;
  /** False while calls are not booked yet. */
  readonly isFinal: boolean;
}

/** Returns the balance of the key, or undefined if this server does not tell it. */
async function balanceOf({ balanceUrl, job }: LoadOptions): Promise<Balance | undefined> {
  try {
    const signal = AbortSignal.timeout(BALANCE_TIMEOUT_MS);
    const response = await fetch(balanceUrl, { headers: job.headers, signal });
    const reply: unknown = await response.json();
    if (!response.ok || !isObject(reply)) return undefined;
    const micro = parseVnd(String(reply["balance_vnd"]));
    const open = [reply["held_vnd"], reply["pending_vnd"]].map((each) => Number(each ?? 0));
    return micro === undefined ? undefined : { micro, isFinal: open.every((each) => each === 0) };
  } catch {
    return undefined;
  }
}

async function chargesOf(
  options: LoadOptions,
  before: Balance,
  { costs }: Report,
): Promise<Charges | undefined> {
  const deadline = performance.now() + BOOKED_WITHIN_MS;
  let after = await balanceOf(options);
  while (after?.isFinal !== true && performance.now() < deadline) {
    await pause(BALANCE_STEP_MS);
    after = await balanceOf(options);
  }
  if (!after) return undefined;
  const chargedMicro = String(before.micro - after.micro);
  return { chargedMicro, expectedMicro: costs.micro, statedBy: costs.calls };
}
