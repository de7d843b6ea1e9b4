import { el, newId } from "../../page-parts/browser/dom.ts";
import { choice, field } from "../../page-parts/browser/form.ts";
import { openChange } from "./change.ts";
import { t } from "./text.ts";

/** A text for customers in each language. Its first line is the subject of the mail. */
interface Draft {
  readonly vi: string;
  readonly en: string;
  readonly kind?: (typeof KINDS)[number];
}

const KINDS = ["announcement", "prices"] as const;

/** Mails a text to all customers who want mails of its kind, each in his language, once for each name. */
export function openAnnouncement(draft: Draft, done?: () => void | Promise<void>): void {
  const name = field(
    t("announce.name"),
    { required: true, maxlength: 60, pattern: "[A-Za-z0-9][A-Za-z0-9.\\-]*" },
    t("announce.name.hint"),
  );
  const kinds = KINDS.map((kind) => [kind, t(`kind.${kind}`)] as const);
  const kind = choice(t("message.kind"), kinds, draft.kind);
  const vi = textField(t("announce.vi"), draft.vi);
  const en = textField(t("announce.en"), draft.en);
  openChange({
    title: t("announce"),
    about: el("p", {}, t("announce.about")),
    fields: [name, kind, vi, en],
    path: "/announcements",
    command: "announce",
    given: () => ({
      name: name.input.value || "NAME",
      kind: kind.select.value,
      vi: "vi.txt",
      en: "en.txt",
    }),
    body: () => ({
      name: name.input.value,
      kind: kind.select.value,
      vi: vi.input.value,
      en: en.input.value,
    }),
    action: t("announce.send"),
    isDangerous: true,
    ...(done && { done }),
  });
}

/** A text of several lines with its label. */
function textField(label: string, value = "") {
  const id = newId("text");
  const input = el("textarea", { id, rows: 7, required: true, maxlength: 20_000 }, value);
  const element = el("div", { class: "field" }, el("label", { for: id }, label), input);
  return { element, input };
}
