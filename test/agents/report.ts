import type { Cell } from "./cell.ts";

const SIGNS: Readonly<Record<Cell["result"], string>> = {
  done: "done",
  failed: "**failed**",
  "not installed": "not installed",
};

/** Makes a table of models and clients: result, calls, and what they cost in đ. */
export function table(
  clients: readonly string[],
  models: readonly string[],
  cells: readonly Cell[],
): string {
  const rows = models.map((model) => {
    const row = clients.map((client) => {
      const cell = cells.find((one) => one.client === client && one.model === model);
      return cell ? textOf(cell) : "";
    });
    return `| ${[model, ...row].join(" | ")} |`;
  });
  const head = `| ${["model", ...clients].join(" | ")} |`;
  return [head, `|${"---|".repeat(clients.length + 1)}`, ...rows].join("\n");
}

/** Says why cells failed. A client that cannot be installed fails on all models for one reason. */
export function failures(cells: readonly Cell[]): string {
  const reasons = cells.flatMap(({ result, client, model, error }) => {
    if (result === "failed") return [`${client} on ${model}: ${error}`];
    return result === "not installed" ? [`${client}: ${error}`] : [];
  });
  return [...new Set(reasons)].join("\n");
}

function textOf({ result, calls, refused, costVnd }: Cell): string {
  if (result === "not installed") return SIGNS[result];
  const repeated = refused > 0 ? ` + ${refused} refused` : "";
  return `${SIGNS[result]}: ${calls}${repeated}, ${costVnd} đ`;
}
