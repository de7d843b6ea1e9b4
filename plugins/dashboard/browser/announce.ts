import { el } from "./dom.ts";

/** What changes without a change of focus is said by screen readers from here. */
const polite = el("div", { class: "hidden", role: "status", "aria-live": "polite" });
const toasts = el("div", { class: "toasts" });
const TOAST_MS = 4000;

/** Puts the places for announcements into the page; once. */
export function mountAnnouncements(): void {
  document.body.append(polite, toasts);
}

/** Says something to those who do not see it. */
export function announce(text: string): void {
  // The same text twice in a row would not be said again.
  polite.textContent = "";
  requestAnimationFrame(() => {
    polite.textContent = text;
  });
}

/** Says something to everybody, for a moment. */
export function toast(text: string): void {
  const note = el("div", { class: "toast" }, text);
  toasts.append(note);
  announce(text);
  setTimeout(() => note.remove(), TOAST_MS);
}
