import { toast } from "../../page-parts/browser/announce.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { field, form } from "../../page-parts/browser/form.ts";
import { vnd } from "../../page-parts/browser/format.ts";
import { card, loadInto } from "../../page-parts/browser/page-head.ts";
import { get, post } from "./api.ts";
import type { MessageKind, MessageSettings } from "./contract.ts";
import { t } from "./text.ts";

/** The mails that the customer gets: a switch for each kind. */
export function messagesCard(signal: AbortSignal): HTMLElement {
  const content = el("div", {});
  void loadInto(content, signal, async () => {
    const settings = await get<MessageSettings>("/messages");
    if (!settings.sends_mail) return el("p", { class: "hint" }, t("messages.none"));
    return el("div", { class: "stack" }, switches(settings), threshold(settings));
  });
  return card(t("messages"), el("p", { class: "hint" }, t("messages.hint")), content);
}

function switches({ kinds, off }: MessageSettings): HTMLElement {
  const unwanted = new Set(off);
  const tick = (kind: MessageKind) => {
    const input = el("input", { type: "checkbox", name: kind, checked: !unwanted.has(kind) });
    input.addEventListener("change", async () => {
      const turn = (isOn: boolean) => (isOn ? unwanted.delete(kind) : unwanted.add(kind));
      turn(input.checked);
      try {
        await post("/messages", { off: [...unwanted] });
        toast(t("saved"));
      } catch (error) {
        input.checked = !input.checked;
        turn(input.checked);
        toast(failureText(error));
      }
    });
    return el("label", { class: "tick" }, input, el("span", {}, t(`messages.${kind}`)));
  };
  return el("div", {}, kinds.map(tick));
}

/** The balance below which a mail comes. */
function threshold({ low_balance_vnd, default_low_balance_vnd }: MessageSettings): HTMLElement {
  const amount = field(
    t("messages.threshold"),
    {
      name: "low_balance_vnd",
      inputmode: "numeric",
      autocomplete: "off",
      pattern: "[0-9., ]*",
      maxlength: 12,
      value: low_balance_vnd ?? "",
    },
    t("messages.threshold.hint", { amount: vnd(default_low_balance_vnd) }),
  );
  const save = async () => {
    const digits = amount.input.value.replace(/\D/g, "");
    await post("/messages", { low_balance_vnd: digits === "" ? null : digits });
    toast(t("saved"));
  };
  return form(t("save"), save, amount.element);
}
