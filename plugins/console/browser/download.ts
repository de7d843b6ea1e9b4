import { csvLine } from "../../page-parts/browser/csv.ts";
import { el } from "../../page-parts/browser/dom.ts";

/** Spreadsheets read a file as UTF-8 if it begins with this. */
const MARK = "\ufeff";

/** Downloads rows as a CSV file: the fields of `like`, in its order. */
export function downloadCsv(name: string, rows: readonly object[], like = rows[0]): void {
  const names = Object.keys(like ?? {});
  const lines = rows.map((row) => {
    const fields: Readonly<Record<string, unknown>> = { ...row };
    return csvLine(names.map((field) => fields[field]));
  });
  const file = new Blob([MARK, [csvLine(names), ...lines, ""].join("\r\n")], { type: "text/csv" });
  const address = URL.createObjectURL(file);
  el("a", { href: address, download: `${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
