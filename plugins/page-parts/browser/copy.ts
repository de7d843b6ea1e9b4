import { announce } from "./announce.ts";
import { el, fill } from "./dom.ts";
import { icon } from "./icons.ts";
import { t } from "./text.ts";

const DONE_MS = 1800;

/** A copy button. `what` is its name for screen readers: "Copy key laptop". */
export function copyButton(
  what: string,
  content: () => string | Promise<string>,
  caption = t("copy"),
): HTMLButtonElement {
  const idleContent = () => [icon("copy"), el("span", {}, caption)];
  const button = el(
    "button",
    { type: "button", class: "small copy", "aria-label": what },
    idleContent(),
  );
  button.addEventListener("click", async () => {
    const text = await content();
    if (text === "") return;
    await copy(text);
    fill(button, icon("check"), el("span", {}, t("copied")));
    announce(t("copied"));
    setTimeout(() => fill(button, idleContent()), DONE_MS);
  });
  return button;
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
}

/**
 * Browsers offer the clipboard API over https only, and a gateway in a local network is often http.
 */
function copyBySelection(text: string): void {
  const area = el("textarea", { class: "hidden", readonly: true });
  area.value = text;
  const host = document.querySelector("dialog[open]") ?? document.body;
  const before = document.activeElement;
  host.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
}
