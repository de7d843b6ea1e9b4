import { addressOf } from "../api.ts";
import { openDialog } from "../dialog.ts";
import { el } from "../dom.ts";
import { choice } from "../form.ts";
import { icon } from "../icons.ts";
import { currentLanguage, t } from "../text.ts";
import type { Text } from "../text-en.ts";
import type { Filter } from "./filters.ts";

/** As the server writes them, in order. */
const COLUMNS = [
  "call_id",
  "time_utc",
  "time_vietnam",
  "endpoint",
  "model",
  "mapped_from",
  "key_id",
  "key_name",
  "status",
  "outcome",
  "streamed",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "images",
  "cost_vnd",
  "written_off_vnd",
  "discount_percent",
  "latency_ms",
  "first_byte_ms",
  "estimated",
] as const;

/** The button that opens the choice of a file, and what its columns mean. */
export function exportButton(filter: () => Filter): {
  button: HTMLElement;
  explanation: HTMLElement;
} {
  const button = el(
    "button",
    { type: "button", onclick: () => openExport(filter()) },
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
      COLUMNS.map((name) =>
        el("div", {}, el("dt", {}, el("code", {}, name)), el("dd", {}, t(`csv.${name}` as Text))),
      ),
    ),
  );
  return { button, explanation };
}

function openExport(filter: Filter): void {
  const decimal = choice(
    t("csv.decimal"),
    [
      ["point", t("csv.decimal.point")],
      ["comma", t("csv.decimal.comma")],
    ],
    currentLanguage() === "vi" ? "comma" : "point",
  );
  const download = el(
    "a",
    { class: "button primary", download: "" },
    icon("download"),
    t("csv.download"),
  );
  const given = Object.entries(filter).filter(([, value]) => value !== "");
  const aim = () => {
    const query = { ...Object.fromEntries(given), decimal: decimal.select.value };
    download.href = addressOf("/usage.csv", query);
  };
  decimal.select.addEventListener("change", aim);
  aim();
  const dialog = openDialog(
    t("csv.export"),
    el("p", {}, t("csv.lead")),
    decimal.element,
    el(
      "div",
      { class: "row end" },
      el("button", { type: "button", onclick: () => dialog.close() }, t("cancel")),
      download,
    ),
  );
  download.addEventListener("click", () => setTimeout(() => dialog.close(), 100));
}
