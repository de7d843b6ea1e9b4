import { csvFile } from "../../page-parts/browser/csv.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { decimalMark } from "../../page-parts/browser/text.ts";

/** Downloads rows as a CSV file, as spreadsheets in the language of the page read it: the fields of `like`, in its order. */
export function downloadCsv(name: string, rows: readonly object[], like = rows[0]): void {
  const file = new Blob([csvFile(rows, like, decimalMark())], {
    type: "text/csv",
  });
  const address = URL.createObjectURL(file);
  el("a", { href: address, download: `${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
