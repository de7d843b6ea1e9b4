import { formatVnd } from "../../core/catalogue/amount.ts";
import type { ChaosOptions, ChaosResult } from "./run.ts";

/** The report of a run, as a table in Markdown. */
export function table(options: ChaosOptions, result: ChaosResult): string {
  const { calls, done, totals } = result;
  const ended = (end: string) => calls.filter((call) => call.end === end).length;
  const refusals = new Map<number, number>();
  for (const { end, status } of calls) {
    if (end === "refused") refusals.set(status, (refusals.get(status) ?? 0) + 1);
  }
  const byStatus = [...refusals].sort(([a], [b]) => a - b).map(([status, n]) => `${n} × ${status}`);
  const unanswered = calls.filter(({ error }) => error === "ECONNREFUSED").length;
  const streamed = calls.filter(({ end, plan }) => end === "whole" && plan.streamed).length;
  const rows: [string, string | number][] = [
    ["seed, minutes", `${options.seed}, ${options.minutes}`],
    ["hold store", options.mode === "cluster" ? "3 primaries, 3 replicas" : "one Redis"],
    ["gateways, concurrent clients", `${options.gateways}, ${options.lanes}`],
    ...(options.builds ? [["versions", options.builds.names] as [string, string]] : []),
    ["faults", [...done.values()].reduce((sum, count) => sum + count, 0)],
    ...[...done].sort().map(([fault, count]): [string, number] => [`— ${fault}`, count]),
    ...[...result.peaks].map(([what, n]): [string, number] => [`most ${what}`, n]),
    ["processes killed (-9)", result.kills],
    ["calls", calls.length],
    ["— received whole", `${ended("whole")} (${streamed} streamed)`],
    ["— cut off", ended("cut") - unanswered],
    ["— sent while the gateway was down", unanswered],
    ["— left by their client", ended("left")],
    ["— refused", `${ended("refused")} (${byStatus.join(", ")})`],
    ["movements of money other than calls", result.movements],
    ["calls charged", totals.chargedCalls],
    ["— of those not received whole", totals.chargedCutCalls],
    ["charged", `${formatVnd(totals.chargedMicroVnd)} đ`],
    [
      "written off by empty wallets",
      `${formatVnd(totals.writtenOffMicroVnd)} đ in ${totals.writtenOffCalls} calls`,
    ],
    ["rows of the ledger", totals.ledgerRows],
    ...[...totals.lostCalls].map(([failure, count]): [string, number] => [
      `whole replies in no record: ${failure}`,
      count,
    ]),
    ...(options.builds ? upgradeRows(result) : []),
    ["checks for a wallet part below zero", result.looksForBelowZero],
    ["longest start of a gateway, among other faults", seconds(result.longestStartMs)],
    ["longest silence of /healthz", seconds(result.longestSilenceMs)],
    ["longest time that a hold outlived its call", seconds(result.longestHoldMs)],
    ["all served and committed after the end of the load", seconds(result.recoveredAfterMs)],
    ["**violations**", `**${result.violations.length}**`],
  ];
  return ["| chaos | |", "|---|---|", ...rows.map(([what, n]) => `| ${what} | ${n} |`)].join("\n");
}

function upgradeRows({ retried, longestStopMs }: ChaosResult): [string, string | number][] {
  return [
    ["charges that an older version could not read, committed after the upgrade", retried],
    ["longest stop of a gateway by SIGTERM, among other faults", seconds(longestStopMs)],
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** The first violations of each rule. */
export function explanation({ violations, evidence }: ChaosResult): string {
  const lines = [...new Set(violations.map(({ rule }) => rule))].flatMap((rule) => {
    const found = violations.filter((violation) => violation.rule === rule);
    const first = found.slice(0, 3);
    return [
      `${found.length} × broken: ${rule}`,
      ...first.map(({ callId, what }) => `    ${callId ?? ""} ${what.slice(0, 900)}`),
    ];
  });
  return [...lines, `logs, calls and deeds are kept in ${evidence}`].join("\n");
}
