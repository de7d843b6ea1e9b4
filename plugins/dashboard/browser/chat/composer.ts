import { el, fill } from "../../../page-parts/browser/dom.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { t } from "../text.ts";
import { Attachments } from "./images.ts";
import type { Turn } from "./stream.ts";

interface Composer {
  readonly element: HTMLElement;
  focus(): void;
  /** While busy, the send button stops the reply. */
  setBusy(busy: boolean): void;
  allowImages(allowed: boolean): void;
}

/**
 * The message input. Enter sends, Shift+Enter starts a new line. Takes pasted and dropped images. Keeps a message until `send`
 * calls `sent`.
 */
export function composer(actions: {
  send: (turn: Turn, sent: () => void) => void;
  stop: () => void;
}): Composer {
  const attachments = new Attachments();
  const text = el("textarea", {
    rows: 1,
    placeholder: t("chat.placeholder"),
    "aria-label": t("chat.placeholder"),
    maxlength: 400_000,
  });
  const attach = el(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": t("chat.attach"),
      onclick: () => attachments.input.click(),
    },
    icon("image"),
  );
  const button = el("button", { type: "submit", class: "primary" });
  const element = el(
    "form",
    { class: "composer" },
    attachments.element,
    el("div", { class: "composer-row" }, attach, attachments.input, text, button),
  );
  let isBusy = false;
  let takesImages = false;

  const grow = () => {
    text.rows = Math.min(8, text.value.split("\n").length + Math.floor(text.value.length / 90));
  };
  const send = () => {
    const said = text.value.trim();
    if (isBusy || (said === "" && attachments.isEmpty)) return;
    actions.send({ role: "user", text: said, images: attachments.attached }, () => {
      text.value = "";
      grow();
      attachments.clear();
    });
  };
  const addFiles = (event: Event, data: DataTransfer | null) => {
    if (!takesImages || !data || data.files.length === 0) return;
    event.preventDefault();
    void attachments.add(data.files);
  };
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isBusy) actions.stop();
    else send();
  });
  text.addEventListener("input", grow);
  text.addEventListener("keydown", (event) => {
    // Enter also confirms a word in an input method, as for Vietnamese; that one must not send. Safari ends the composition
    // before it, so only its code differs.
    const confirms = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || confirms) return;
    event.preventDefault();
    send();
  });
  text.addEventListener("paste", (event) => addFiles(event, event.clipboardData));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => addFiles(event, event.dataTransfer));
  const setBusy = (busy: boolean) => {
    isBusy = busy;
    button.setAttribute("aria-label", busy ? t("chat.stop") : t("chat.send"));
    fill(button, icon(busy ? "stop" : "send"));
  };
  setBusy(false);
  return {
    element,
    focus: () => text.focus(),
    setBusy,
    allowImages(allowed) {
      takesImages = allowed;
      attach.hidden = !allowed;
      if (!allowed) attachments.clear();
    },
  };
}
