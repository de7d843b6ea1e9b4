import { el } from "../../../page-parts/browser/dom.ts";
import { textsOf } from "../../../page-parts/browser/text.ts";
import { t } from "../text.ts";

/** The explanation of the columns of the CSV file. */
export function csvExplanation(): HTMLElement {
  return el(
    "details",
    { class: "card" },
    el("summary", {}, t("csv.columns")),
    el("p", { class: "hint" }, t("csv.form")),
    el(
      "dl",
      { class: "columns" },
      textsOf("column.").map(([name, text]) =>
        el("div", {}, el("dt", {}, el("code", {}, name)), el("dd", {}, text)),
      ),
    ),
  );
}
