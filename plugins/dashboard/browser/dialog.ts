import { type Child, el, newId } from "./dom.ts";
import { t } from "./text.ts";

/** Opens a dialog; the browser keeps the focus in it, closes it at Escape and returns the focus. */
export function openDialog(title: string, ...content: Child[]): HTMLDialogElement {
  const id = newId("dialog");
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), ...content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks before something that cannot be undone. */
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
