import { el } from "./dom.ts";

/** Screen readers read out changes of this element without a change of focus. */
const polite = el("div", { class: "hidden", role: "status", "aria-live": "polite" });
const toasts = el("div", { class: "toasts" });
const TOAST_MS = 4000;

/** Adds the announcement elements to the page. Call once. */
export function mountAnnouncements(): void {
  document.body.append(polite, toasts);
}

/** Makes screen readers read out `text`. */
export function announce(text: string): void {
  // Without the reset, a screen reader skips a text that equals the one before.
  polite.textContent = "";
  requestAnimationFrame(() => {
    polite.textContent = text;
  });
}

/** Shows `text` for 4 seconds and announces it to screen readers. */
export function toast(text: string): void {
  const note = el("div", { class: "toast" }, text);
  toasts.append(note);
  announce(text);
  setTimeout(() => note.remove(), TOAST_MS);
}
