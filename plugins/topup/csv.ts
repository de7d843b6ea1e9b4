export type Separator = "," | ";" | "\t";

/** One record of a CSV file, and the line on which it begins, counted from 1. */
export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Reads CSV as RFC 4180 has it: quotes around separators, line ends and doubled quotes. Leaves out empty lines. */
export function readCsv(text: string, separator: Separator): CsvRow[] {
  const cell = new RegExp(
    `("[^"]*(?:""[^"]*)*"?|)([^${separator}\\r\\n]*)(${separator}|\\r\\n?|\\n|$)`,
    "y",
  );
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let [line, next] = [1, 1];
  while (cell.lastIndex < text.length || cells.length > 0) {
    const [all = "", quoted = "", rest = "", end = ""] = cell.exec(text) ?? [];
    cells.push((quoted.replace(/^"|"$/g, "").replaceAll('""', '"') + rest).trim());
    next += (all.match(/\r\n?|\n/g) ?? []).length;
    if (end === separator) continue;
    if (cells.some((one) => one !== "")) rows.push({ line, cells });
    [cells, line] = [[], next];
  }
  return rows;
}
