import type { Problems } from "./problem.ts";
import { limits, listen, stores } from "./schema.ts";
import { attempt } from "./validate.ts";
import type { Source } from "./yaml.ts";

/** Checks settings that depend on each other. Skips those that are invalid by themselves. */
export function reviewSettings(
  written: Readonly<Record<string, unknown>>,
  source: Source,
  problems: Problems,
): void {
  const workers = attempt(listen, written["listen"])?.workers ?? 1;
  const backends = attempt(stores, written["stores"]);
  const embedded = [
    ...(backends?.hot === "embedded" ? ["stores.hot"] : []),
    ...(backends?.ledger === "embedded" ? ["stores.ledger"] : []),
  ];
  if (workers > 1 && embedded.length > 0) {
    problems.add(
      source,
      ["listen", "workers"],
      "expected 1, since only one process can use an embedded store; for more workers, " +
        `set ${embedded.join(" and ")} to a URL`,
    );
  }

  const times = attempt(limits, written["limits"]);
  if (times?.idle_seconds !== undefined && times.idle_seconds > times.call_seconds) {
    problems.add(
      source,
      ["limits", "idle_seconds"],
      "expected at most call_seconds, got a larger number",
    );
  }
}
