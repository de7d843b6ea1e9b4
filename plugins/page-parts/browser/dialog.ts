import { type Child, el, newId } from "./dom.ts";
import { t } from "./text.ts";

/**
 * Opens a modal dialog. The browser keeps the focus in it, closes it on Escape and restores the
 * focus.
 */
export function openDialog(title: string, ...content: Child[]): HTMLDialogElement {
  const id = newId("dialog");
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), ...content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A button that closes the dialog around it. */
export function closeButton(text = t("close"), look = ""): HTMLButtonElement {
  const button = el("button", { type: "button", class: look }, text);
  button.addEventListener("click", () => button.closest("dialog")?.close());
  return button;
}

/** Closes all dialogs, as if their reader had cancelled: each belongs to the page that opened it, and may show a secret. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.close();
    // The event that removes it comes later than the next page.
    dialog.remove();
  }
}

/** Asks for confirmation. Resolves with true if the customer chooses `action`. */
export function confirmed(title: string, text: string, action: string): Promise<boolean> {
  return new Promise((resolve) => {
    const close = (answer: string) => dialog.close(answer);
    const dialog = openDialog(
      title,
      el("p", {}, text),
      el(
        "div",
        { class: "row end" },
        el("button", { type: "button", onclick: () => close("no") }, t("cancel")),
        el("button", { type: "button", class: "danger", onclick: () => close("yes") }, action),
      ),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}
