import assert from "node:assert/strict";

/** Returns the rows of a table that has three lines for each. Throws if lines are left. */
export function lineTriples(
  lines: readonly string[],
): [first: string, second: string, third: string][] {
  assert.equal(lines.length % 3, 0, "each row has three lines");
  return Array.from({ length: lines.length / 3 }, (_, at) => {
    const [first = "", second = "", third = ""] = lines.slice(3 * at, 3 * at + 3);
    return [first, second, third];
  });
}
