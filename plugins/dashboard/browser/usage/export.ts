import { closeButton, openDialog } from "../../../page-parts/browser/dialog.ts";
import { el } from "../../../page-parts/browser/dom.ts";
import { choice } from "../../../page-parts/browser/form.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { currentLanguage, textsOf } from "../../../page-parts/browser/text.ts";
import { fileLink } from "../file-link.ts";
import { t } from "../text.ts";
import { archivedNote } from "./archived-note.ts";
import type { Filter } from "./filters.ts";

/** The export button, which opens a dialog, and the explanation of the CSV columns. */
export function exportButton(
  filter: () => Filter | undefined,
  archivedBefore: () => string | null,
): {
  button: HTMLElement;
  explanation: HTMLElement;
} {
  const button = el(
    "button",
    {
      type: "button",
      onclick: () => {
        const wanted = filter();
        if (wanted) openExport(wanted, archivedBefore());
      },
    },
    icon("download"),
    t("csv.export"),
  );
  const explanation = el(
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
  return { button, explanation };
}

function openExport(filter: Filter, archivedBefore: string | null): void {
  const decimal = choice(
    t("csv.decimal"),
    [
      ["point", t("csv.decimal.point")],
      ["comma", t("csv.decimal.comma")],
    ],
    currentLanguage() === "vi" ? "comma" : "point",
  );
  const file = fileLink(t("csv.download"), "button primary");
  const given = Object.entries(filter).filter(([, value]) => value !== "");
  const updateLink = () => {
    file.lead("/usage.csv", { ...Object.fromEntries(given), decimal: decimal.select.value });
  };
  decimal.select.addEventListener("change", updateLink);
  updateLink();
  const dialog = openDialog(
    t("csv.export"),
    el("p", {}, t("csv.lead")),
    archivedNote(archivedBefore),
    decimal.element,
    el("div", { class: "row end" }, closeButton(t("cancel")), file.element),
  );
  file.element.addEventListener("click", () => dialog.close());
}
