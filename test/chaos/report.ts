import { formatVnd } from "../../core/contract/amount.ts";
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
    ["gateways, concurrent clients", `${options.gateways}, ${options.lanes}`],
    ["kills (-9)", result.kills],
    ...[...done].sort().map(([deed, count]): [string, number] => [`— ${deed}`, count]),
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
    ["checks for a wallet part below zero", result.looksForBelowZero],
    [
      "all outboxes empty after the end of the load",
      `${(result.recoveredAfterMs / 1_000).toFixed(1)} s`,
    ],
    ["**violations**", `**${result.violations.length}**`],
  ];
  return ["| chaos | |", "|---|---|", ...rows.map(([what, n]) => `| ${what} | ${n} |`)].join("\n");
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
