import { el } from "../../../page-parts/browser/dom.ts";
import { dateTime } from "../../../page-parts/browser/format.ts";
import { t } from "../text.ts";

/** Says which calls a list or a file lacks; nothing if `before` is null. */
export function archivedNote(before: string | null): HTMLElement[] {
  if (before === null) return [];
  return [el("p", { class: "hint" }, t("usage.archived", { time: dateTime(before) }))];
}
