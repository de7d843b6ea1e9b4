import type { Problems } from "./problem.ts";
import { limits, listen, stores } from "./schema.ts";
import { attempt } from "./validate.ts";
import type { Source } from "./yaml.ts";

/** Checks the settings that depend on one another, each where its parts are right in themselves. */
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
      "expected 1, since an embedded store belongs to one process; for more workers " +
        `give ${embedded.join(" and ")} a URL`,
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
