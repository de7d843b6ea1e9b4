import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { notice } from "../../page-parts/browser/form.ts";
import { dateTime } from "../../page-parts/browser/format.ts";
import { failed } from "../../page-parts/browser/page-head.ts";
import { t } from "./text.ts";

/** Shortest time between two readings of a page. */
const PAUSE_MS = 10_000;
const PAUSE_MAX_MS = 5 * 60_000;

/**
 * Calls `refresh` again and again until `signal` aborts: 10 s after the last reading, later after failures, and only while
 * the page is visible. While it fails, a notice above `place` says of when that is, unless nothing was read yet; `readAt`: when
 * something else read it. `refresh` returns false if it has read nothing that is shown.
 */
export function keepFresh(
  place: HTMLElement,
  signal: AbortSignal,
  refresh: () => Promise<boolean>,
  readAt: () => number | undefined = () => undefined,
): void {
  let refreshedAt: number | undefined;
  let stale: HTMLElement | undefined;
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;

  async function run(): Promise<void> {
    if (signal.aborted || document.hidden || isRunning) return;
    isRunning = true;
    try {
      const isRead = await refresh();
      failures = 0;
      if (isRead) {
        refreshedAt = Date.now();
        showStale(undefined);
      }
    } catch (error) {
      failures += 1;
      const shownAt = Math.max(refreshedAt ?? 0, readAt() ?? 0);
      if (shownAt > 0 && !signal.aborted)
        showStale(
          notice(
            "bad",
            t("live.stale", { time: dateTime(new Date(shownAt).toISOString()) }),
            " ",
            failureText(error),
          ),
        );
    }
    isRunning = false;
    wait();
  }

  function showStale(next: HTMLElement | undefined): void {
    stale?.remove();
    stale = next;
    if (next) place.before(next);
  }

  function wait(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    timer = setTimeout(() => void run(), Math.min(PAUSE_MS * 2 ** failures, PAUSE_MAX_MS));
  }

  document.addEventListener(
    "visibilitychange",
    () => {
      if (!document.hidden) wait();
    },
    { signal },
  );
  addEventListener("online", () => void run(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  wait();
}

/** Reads a page, and keeps it fresh. `place` shows why if the first reading fails, with a button to try again. */
export async function showFresh(
  place: HTMLElement,
  signal: AbortSignal,
  refresh: () => Promise<boolean>,
): Promise<void> {
  let readAt: number | undefined;
  const first = async () => {
    try {
      await refresh();
      readAt = Date.now();
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          failed(error, () => void first()),
        );
    }
  };
  await first();
  keepFresh(place, signal, refresh, () => readAt);
}

/**
 * Replaces what a place shows, if it is not the same: then focus and selection of the reader stay. Those of a field with a
 * name stay too if it is replaced. A word that is still composed, as Vietnamese is typed, delays it to the next reading.
 */
export function redraw(place: HTMLElement, ...content: Child[]): void {
  const next = el("div", {}, content);
  const now = el("div", {}, [...place.cloneNode(true).childNodes]);
  if (place.querySelector("[data-composing]") || next.isEqualNode(now)) return;
  const typed = place.querySelector<HTMLInputElement>("input[name]:focus");
  const { name = "", selectionStart = null, selectionEnd = null } = typed ?? {};
  fill(place, [...next.childNodes]);
  const same = typed && place.querySelector<HTMLInputElement>(`input[name="${CSS.escape(name)}"]`);
  same?.focus({ preventScroll: true });
  same?.setSelectionRange(selectionStart, selectionEnd);
}
