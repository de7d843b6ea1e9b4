import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { notice } from "../../page-parts/browser/form.ts";
import { dateTime } from "../../page-parts/browser/format.ts";
import { failed } from "../../page-parts/browser/page-head.ts";
import { t } from "./text.ts";

/** Shortest time between two readings of a page. */
const PAUSE_MS = 10_000;
const PAUSE_MAX_MS = 5 * 60_000;

/** A part of a page that the gateway changes. */
interface Shown {
  readonly element: HTMLElement;
  /** Reads it again. Returns false if it has read nothing that is shown; rejects if it could not. */
  refresh(): Promise<boolean>;
  /** When what is shown was read; undefined if nothing is. */
  readAt(): number | undefined;
}

/**
 * Refreshes what is shown again and again until `signal` aborts: 10 s after the last reading, later after failures, and only
 * while the page is visible. While that fails, a notice above it says of when it is.
 */
export function keepFresh({ element, refresh, readAt }: Shown, signal: AbortSignal): void {
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
      if (isRead) showStale(undefined);
    } catch (error) {
      failures += 1;
      const shownAt = readAt();
      if (shownAt !== undefined && !signal.aborted)
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
    if (next) element.before(next);
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
  const read = async () => {
    const isRead = await refresh();
    if (isRead) readAt = Date.now();
    return isRead;
  };
  const first = async () => {
    try {
      await read();
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          failed(error, () => void first()),
        );
    }
  };
  await first();
  keepFresh({ element: place, refresh: read, readAt: () => readAt }, signal);
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
