import { announce, toast } from "./announce.ts";
import { closeButton, openDialog } from "./dialog.ts";
import { el, fill } from "./dom.ts";
import { failureText } from "./failure.ts";
import { icon } from "./icons.ts";
import { t } from "./text.ts";

const DONE_MS = 1800;

/**
 * A copy button. `what` is its name for screen readers: "Copy key laptop". `content` may have to be fetched first. If the
 * browser copies nothing, shows the text.
 */
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
    const text = content();
    try {
      if (!(await copied(text))) return showText(what, await text);
    } catch (error) {
      toast(failureText(error));
      return;
    }
    fill(button, icon("check"), el("span", {}, t("copied")));
    announce(t("copied"));
    setTimeout(() => fill(button, idleContent()), DONE_MS);
  });
  return button;
}

/** Returns false if the browser lets the page copy nothing. Rejects if the text cannot be fetched. */
async function copied(text: string | Promise<string>): Promise<boolean> {
  try {
    if (typeof text === "string") await navigator.clipboard.writeText(text);
    else {
      // Safari takes only what is written within the click, and waits for a promise of it.
      const blob = text.then((fetched) => new Blob([fetched], { type: "text/plain" }));
      // A browser that takes no promise leaves it unheard.
      blob.catch(() => {});
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    }
    return true;
  } catch {
    const fetched = await text;
    const written = navigator.clipboard?.writeText(fetched).then(
      () => true,
      () => false,
    );
    return (await written) || copiedBySelection(fetched);
  }
}

/**
 * Browsers offer the clipboard API over https only, and a gateway in a local network is often http.
 */
function copiedBySelection(text: string): boolean {
  const area = el("textarea", { class: "hidden", readonly: true });
  area.value = text;
  const host = document.querySelector("dialog[open]") ?? document.body;
  const before = document.activeElement;
  host.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** Lets the reader copy the text by hand. */
function showText(what: string, text: string): void {
  openDialog(
    what,
    el("p", {}, t("copy.byhand")),
    el("code", { class: "secret", "data-secret": true }, text),
    el("div", { class: "row end" }, closeButton()),
  );
}
