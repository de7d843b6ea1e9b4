import { announce } from "../../../page-parts/browser/announce.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { failed } from "../../../page-parts/browser/page-head.ts";
import { get } from "../api.ts";
import { callTable } from "../call-table.ts";
import type { CallPage } from "../contract.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";
import { isWide } from "../wide.ts";
import { archivedNote } from "./archived-note.ts";
import type { Filter } from "./filters.ts";

/** Calls per page; on a phone each takes three lines. */
const [PAGE, PAGE_OF_PHONE] = ["25", "6"];

/**
 * The calls that match a filter, page by page. Requests a page by the last record of the one
 * before, so page 1000 is as fast as page 1. Keeps the start of each page for the way back.
 */
export function usageTable(signal: AbortSignal): {
  element: HTMLElement;
  show: (filter: Filter) => Promise<void>;
} {
  const rows = el("div", { "aria-busy": false });
  const archived = el("div", { "aria-live": "polite" });
  const newer = el("button", { type: "button" }, t("usage.newer"));
  const older = el("button", { type: "button" }, t("usage.older"));
  const position = el("span", { class: "hint" });
  const pager = el("div", { class: "row center pager" }, newer, position, older);
  const element = el("div", {}, archived, rows, pager);
  let filter: Filter | undefined;
  /** The `before` cursor of each page up to this one. The first is empty: the newest call. */
  let starts: string[] = [""];
  let next: string | null = null;
  let latestRequest = 0;

  // A second tap on a slow line must not turn another page. Disabled buttons would lose the focus.
  const isBusy = () => rows.getAttribute("aria-busy") === "true";
  newer.addEventListener("click", () => {
    if (isBusy() || starts.length === 1) return;
    starts.pop();
    void load();
  });
  older.addEventListener("click", () => {
    if (isBusy() || next === null) return;
    starts.push(next);
    void load();
  });

  async function load(): Promise<void> {
    if (!filter) return;
    latestRequest += 1;
    const request = latestRequest;
    rows.setAttribute("aria-busy", "true");
    try {
      const page = await get<CallPage>("/usage", {
        ...filter,
        limit: isWide() ? PAGE : PAGE_OF_PHONE,
        before: starts.at(-1),
      });
      if (signal.aborted || request !== latestRequest) return;
      next = page.next;
      fill(archived, archivedNote(page.archived_before));
      const isEmpty = page.data.length === 0;
      fill(rows, isEmpty ? nothing(filter) : callTable(page.data));
      pager.hidden = isEmpty && starts.length === 1;
      position.textContent = isEmpty ? "" : t("usage.page", { page: starts.length });
      announce(position.textContent);
    } catch (error) {
      if (signal.aborted || request !== latestRequest) return;
      fill(
        rows,
        failed(error, () => void load()),
      );
    }
    rows.setAttribute("aria-busy", "false");
    newer.disabled = starts.length === 1;
    older.disabled = next === null;
  }

  return {
    element,
    async show(wanted) {
      filter = wanted;
      starts = [""];
      next = null;
      await load();
    },
  };
}

/** Says why the list is empty: calls that were refused at once are in another list. */
function nothing({ status, model, key, member }: Filter): HTMLElement {
  if (status === "" && model === "" && key === "" && member === "") {
    return el(
      "div",
      { class: "empty" },
      el("p", {}, t("usage.empty")),
      el("a", { class: "button", href: `${BASE}/how-to` }, t("nav.howto")),
    );
  }
  const isOfFailed = status !== "" && status !== "ok";
  return el("p", { class: "empty" }, t("usage.none"), isOfFailed && ` ${t("usage.none.refused")}`);
}
