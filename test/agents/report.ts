import type { Cell } from "./cell.ts";
import type { Watch } from "./watch.ts";

/** Makes a table of clients and models: the version of a client, its calls, and what they cost in đ. */
export function table(
  clients: ReadonlyMap<string, string>,
  models: readonly string[],
  cells: readonly Cell[],
): string {
  const rows = [...clients].map(([client, versions]) => {
    const row = models.map((model) => {
      const cell = cells.find((one) => one.client === client && one.model === model);
      return cell ? textOf(cell) : "";
    });
    return `| ${[client, versions, ...row].join(" | ")} |`;
  });
  const head = `| ${["client", "versions", ...models].join(" | ")} |`;
  return [head, `|${"---|".repeat(models.length + 2)}`, ...rows].join("\n");
}

/** Says why cells failed. A client that cannot be installed fails on all models for one reason. */
export function failures(cells: readonly Cell[]): string {
  const reasons = cells.flatMap(({ result, client, model, error }) => {
    if (result === "failed") return [`${client} on ${model}: ${error}`];
    return result === "not installed" ? [`${client}: ${error}`] : [];
  });
  return [...new Set(reasons)].join("\n");
}

/** Says what clients have sent that this build does not know, and which clients. */
export function unknowns({ unknown }: Pick<Watch, "unknown">): string {
  const lines = [...unknown].map(([what, clients]) => `${what} (${[...clients].join(", ")})`);
  if (lines.length === 0) return "every field, beta, block and type of tool is known";
  return `not known to this build:\n${lines.sort().join("\n")}`;
}

function textOf({ result, calls, refused, costVnd }: Cell): string {
  if (result === "not installed") return "not installed";
  const repeated = refused > 0 ? ` + ${refused} refused` : "";
  return `${result === "failed" ? "**failed**: " : ""}${calls}${repeated}, ${costVnd} đ`;
}
