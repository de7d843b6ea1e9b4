import { formatVnd } from "../../core/catalogue/amount.ts";
import type { Report } from "./job.ts";
import {
  type Charges,
  cellsOfChange,
  cellsOfTimes,
  driftOf,
  type Run,
  showCount,
  showShare,
  showTime,
  timesOf,
  warningsOf,
} from "./run.ts";
import { printTable } from "./table.ts";

const FAILURES_SHOWN = 10;
const BODY_SHOWN = 300;

/** Prints a run, beside an earlier one if there is one. */
export function printRun(run: Run, earlier: Run | undefined): void {
  const { report, charges, limits } = run;
  console.log(`\n${run.url}\n${run.call}; ${run.load}`);
  console.log(`\n${outcomeOf(report)}`);
  for (const { kind, count, body } of report.failures.slice(0, FAILURES_SHOWN)) {
    const text = body.trim().slice(0, BODY_SHOWN);
    console.log(`  ${showCount(count)} × ${kind}${text === "" ? "" : `: ${text}`}`);
  }
  if (report.calls > 0) {
    const since = run.isOpenLoop ? "from when it was due" : "from when it was sent";
    printTable(
      `times of the ${showCount(report.calls)} good calls, ${since}`,
      rowsOf(report, earlier?.report),
    );
  }
  if (charges) console.log(`\n${chargesText(charges, report)}`);
  console.log(`\n${generatorText(run)}`);
  for (const warning of warningsOf(run, earlier)) console.log(`! ${warning}`);
  for (const { name, bound, value, isKept } of limits) {
    console.log(`${isKept ? "kept" : "NOT KEPT"}: --${name} ${bound}, is ${value}`);
  }
}

/** Returns how many calls succeeded and at which rate. */
export function outcomeOf({ calls, errors, seconds }: Report): string {
  const all = showCount(calls + errors);
  const share = errors > 0 ? ` (${showShare(errors / (calls + errors))})` : "";
  const rate = `${showCount(calls / seconds)} a second`;
  return `${showCount(errors)} of ${all} calls failed${share}; ${showCount(calls)} succeeded, ${rate}`;
}

/** Returns what was charged and what the replies stated. */
export function chargesText(charges: Charges, report: Report): string {
  const { calls } = report;
  const charged = `charged: the balance fell by ${formatVnd(BigInt(charges.chargedMicro))} đ`;
  if (charges.statedBy === 0) return `${charged}; the replies do not state their cost`;
  const stated = `the replies state ${formatVnd(BigInt(charges.expectedMicro))} đ`;
  if (charges.statedBy < calls) {
    return `${charged}; ${showCount(charges.statedBy)} of ${showCount(calls)} good replies state their cost, ${stated}`;
  }
  const drift = driftOf(charges, report);
  if (drift === undefined) return `${charged}, ${stated}`;
  return `${charged}, ${stated}: ${drift === 0n ? "equal" : "NOT EQUAL"}`;
}

function rowsOf(report: Report, earlier: Report | undefined): Record<string, string>[] {
  const before = earlier && timesOf(earlier);
  return [...timesOf(report)].flatMap(([name, times]) => {
    const row = { "": name, ...cellsOfTimes(times) };
    const old = before?.get(name);
    if (!old) return [row];
    return [
      row,
      { "": "  before", ...cellsOfTimes(old) },
      { "": "  change", ...cellsOfChange(times, old) },
    ];
  });
}

/** Returns how the generator itself did. */
export function generatorText({ isOpenLoop, report }: Run): string {
  const { lateUs, busy, waitedForCore } = report.generator;
  const late = isOpenLoop ? `calls left ${showTime(lateUs.p99)} late (p99), ` : "";
  return `generator: ${late}busy ${showShare(busy)}, waited for a core ${showShare(waitedForCore)}`;
}
