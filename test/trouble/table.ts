import type { Case } from "./faults.ts";

type How = "streamed" | "whole";

/**
 * Writes the table of the README: for each trouble, what the client gets with nothing beside it, with a second route and
 * with a second key. `statuses`: those of all protocols; `place`: the column.
 */
export function tableOf(
  cases: readonly Case[],
  statuses: (at: number, place: number, how: How) => readonly number[],
): string {
  const rows = cases.map(({ name, isCallers = false }, at) => {
    const said = (status: number) => {
      if (status !== 200) return String(status);
      return isCallers ? "an event" : "served";
    };
    const columns = [0, 1, 2].map((place) =>
      both(
        (["streamed", "whole"] as const).map((how) => statuses(at, place, how).map(said).join("/")),
      ),
    );
    return `| ${name} | ${columns.join(" | ")} |\n`;
  });
  return `| trouble | alone | with a second route | with a second key |\n|---|---|---|---|\n${rows.join("")}`;
}

function both([streamed = "", whole = ""]: readonly string[]): string {
  if (streamed === whole || whole === "") return streamed;
  return streamed === "" ? whole : `${streamed} streamed, ${whole} whole`;
}
