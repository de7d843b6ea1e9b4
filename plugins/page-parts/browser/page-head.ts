import { type Child, el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { notice } from "./form.ts";
import { ScriptError } from "./on-demand.ts";
import { t } from "./text.ts";

/** The top of a page: its title, a lead sentence and its main actions. */
export function pageHead(title: string, lead: Child, ...actions: Child[]): HTMLElement {
  return el(
    "div",
    { class: "page-head" },
    el("div", {}, el("h1", {}, title), el("p", { class: "lead" }, lead)),
    el("div", { class: "row" }, actions),
  );
}

/** A section of a page with its own heading. */
export function card(title: Child, ...content: Child[]): HTMLElement {
  return el("section", { class: "card" }, title !== null && el("h2", {}, title), content);
}

/** Stands for what is still loading. After some seconds it says that the line is slow, and offers to load again. */
export function waiting(): HTMLElement {
  return el(
    "div",
    { class: "waiting", role: "status" },
    el("span", { class: "hidden" }, t("loading")),
    el("p", { class: "slow" }, t("slow"), " ", el("a", { href: location.href }, t("retry"))),
  );
}

/** How often each place was read: the latest reading fills it, whichever ends last. */
const readings = new WeakMap<Element, number>();

/**
 * Fills `place` with what `content` resolves to. If it fails, with the reason and a button that tries again. `content` may
 * change other parts too while `isWanted()`. `keeps`: what it shows stays until then.
 */
export async function loadInto(
  place: Element,
  signal: AbortSignal,
  content: (isWanted: () => boolean) => Promise<Child>,
  keeps = false,
): Promise<void> {
  const reading = (readings.get(place) ?? 0) + 1;
  readings.set(place, reading);
  const isWanted = () => !signal.aborted && readings.get(place) === reading;
  if (!keeps) fill(place, waiting());
  try {
    const loaded = await content(isWanted);
    if (isWanted()) fill(place, loaded);
  } catch (error) {
    if (isWanted())
      fill(
        place,
        failed(error, () => void loadInto(place, signal, content, keeps)),
      );
  }
}

/** A failure, with a button that tries again: with a new document if only that helps. */
export function failed(error: unknown, again: () => void): HTMLElement {
  const onclick = error instanceof ScriptError ? () => location.reload() : again;
  return notice(
    "bad",
    el("p", {}, failureText(error)),
    el("button", { type: "button", class: "small", onclick }, t("retry")),
  );
}
