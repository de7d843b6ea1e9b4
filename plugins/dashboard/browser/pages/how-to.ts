import { get } from "../api.ts";
import type { Catalogue } from "../contract.ts";
import { copyButton } from "../copy.ts";
import { el, fill } from "../dom.ts";
import { choice, notice } from "../form.ts";
import { card, pageHead, waiting } from "../page-head.ts";
import { BASE, type PageContext } from "../routes.ts";
import { snippets } from "../snippets.ts";
import { t } from "../text.ts";

/** Models for the background work of an agent. */
const SMALL = /^claude-haiku-/;

export async function render({ root, signal }: PageContext): Promise<void> {
  fill(root, pageHead(t("nav.howto"), t("howto.lead")), waiting(t("loading")));
  const { models, popular } = await get<Catalogue>("/catalogue");
  if (signal.aborted) return;
  const chat = models.filter(({ standard }) => standard === "messages" || standard === "chat");
  const first = [...popular, ...chat.map(({ id }) => id)];
  const ids = [...new Set(first)].filter((id) => chat.some((model) => model.id === id));
  const model = choice(
    t("howto.model"),
    ids.map((id) => [id, id] as const),
  );
  const base = location.origin;
  const list = el("div", { class: "stack" });
  const refresh = () => {
    const background = ids.find((id) => SMALL.test(id)) ?? model.select.value;
    fill(list, snippets(base, model.select.value, background).map(snippetCard));
  };
  model.select.addEventListener("change", refresh);
  refresh();
  fill(
    root,
    pageHead(t("nav.howto"), t("howto.lead")),
    card(
      t("howto.address"),
      el(
        "dl",
        { class: "transfer" },
        address(t("howto.messages"), base),
        address(t("howto.chat"), `${base}/v1`),
      ),
      notice("info", t("howto.wrong")),
      el("p", {}, t("howto.key"), " ", el("a", { href: `${BASE}/keys` }, t("nav.keys"))),
      model.element,
    ),
    list,
  );
}

function address(name: string, value: string): HTMLElement {
  const copy = copyButton(t("howto.copy", { name }), () => value);
  return el("div", {}, el("dt", {}, name), el("dd", {}, el("code", {}, value), copy));
}

function snippetCard({
  id,
  name,
  address,
  code,
  note,
}: ReturnType<typeof snippets>[number]): HTMLElement {
  return el(
    "section",
    { class: "card snippet", id },
    el(
      "div",
      { class: "row spread" },
      el("h2", {}, name),
      copyButton(t("howto.copy", { name }), () => code),
    ),
    el("p", { class: "hint" }, t("howto.uses", { address })),
    note !== undefined && el("p", {}, note),
    el("pre", { tabindex: 0 }, el("code", {}, code)),
  );
}
