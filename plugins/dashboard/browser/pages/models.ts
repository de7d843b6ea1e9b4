import { get } from "../api.ts";
import type { Catalogue, Model } from "../contract.ts";
import { copyButton } from "../copy.ts";
import { el, fill } from "../dom.ts";
import { choice, field } from "../form.ts";
import { number, tokenLimit } from "../format.ts";
import { pageHead, waiting } from "../page-head.ts";
import type { PageContext } from "../routes.ts";
import { t } from "../text.ts";
import type { Text } from "../text-en.ts";

/** Filters of the list by price unit and channel. */
const KINDS = {
  all: () => true,
  token: (model: Model) => model.price_unit === "mtok" && model.channel === "standard",
  call: (model: Model) => model.price_unit === "call" && isChat(model),
  aws: (model: Model) => model.channel === "aws",
  media: (model: Model) => !isChat(model),
} as const satisfies Readonly<Record<string, (model: Model) => boolean>>;
type Kind = keyof typeof KINDS;

export async function render({ root, signal }: PageContext): Promise<void> {
  fill(root, pageHead(t("nav.models"), t("models.lead")), waiting());
  const { models } = await get<Catalogue>("/catalogue");
  if (signal.aborted) return;
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const search = field(t("models.search"), { type: "search", autocomplete: "off", value: query });
  const kinds: (readonly [Kind, string])[] = (Object.keys(KINDS) as Kind[]).map((kind) => [
    kind,
    t(`models.kind.${kind}`),
  ]);
  const kind = choice(t("models.kind"), kinds);
  const label = choice(t("models.label"), [
    ["", t("models.kind.all")],
    ["reasoning", t("label.reasoning")],
    ["vision", t("label.vision")],
    ["tools", t("label.tools")],
  ]);
  const count = el("p", { class: "hint", role: "status" });
  const rows = el("tbody");
  const columns = [
    "models.id",
    "models.price",
    "models.context",
    "models.output",
    "models.labels",
    "models.api",
  ] as const;
  const refresh = () => {
    const words = search.input.value.toLowerCase().split(/\s+/);
    const isWanted = KINDS[kind.select.value as Kind];
    const wantedLabel = label.select.value;
    const found = models.filter(
      (model) =>
        isWanted(model) &&
        (wantedLabel === "" || model.labels.includes(wantedLabel)) &&
        words.every((word) => model.id.toLowerCase().includes(word)),
    );
    count.textContent = t("models.count", { count: found.length });
    fill(
      rows,
      found.map((model) => row(model, columns)),
    );
  };
  for (const control of [search.input, kind.select, label.select]) {
    control.addEventListener("input", refresh);
  }
  refresh();
  fill(
    root,
    pageHead(t("nav.models"), t("models.lead")),
    el(
      "section",
      { class: "card" },
      el("div", { class: "filters", role: "search" }, search.element, kind.element, label.element),
      count,
      el(
        "table",
        { class: "data blocks" },
        el("caption", { class: "hidden" }, t("nav.models")),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            columns.map((name, at) => el("th", { scope: "col", class: isNumber(at) }, t(name))),
          ),
        ),
        rows,
      ),
    ),
  );
}

function isChat({ standard }: Model): boolean {
  return standard === "messages" || standard === "chat";
}

function isNumber(column: number): string | undefined {
  return column >= 1 && column <= 3 ? "number" : undefined;
}

function row(model: Model, columns: readonly Text[]): HTMLElement {
  const limit = (tokens: number | null) =>
    tokens === null ? "–" : el("span", { title: number(tokens) }, tokenLimit(tokens));
  const cells = [
    el(
      "span",
      { class: "model-id" },
      el("code", {}, model.id),
      copyButton(t("models.copy", { id: model.id }), () => model.id, ""),
    ),
    priceCell(model),
    limit(model.context_window),
    limit(model.max_output_tokens),
    el(
      "span",
      { class: "badges" },
      model.channel === "aws" && el("span", { class: "badge gold" }, "AWS"),
      model.labels
        .filter((label) => label !== "streaming")
        .map((label) => el("span", { class: "badge" }, t(`label.${label}` as Text))),
    ),
    el("code", {}, endpointOf(model)),
  ];
  return el(
    "tr",
    {},
    cells.map((cell, at) =>
      el("td", { "data-label": t(columns[at] ?? "models.id"), class: isNumber(at) }, cell),
    ),
  );
}

function priceCell(model: Model): HTMLElement {
  const [amount, unit = ""] = priceText(model).split(" / ");
  return el(
    "span",
    { class: "price" },
    el("strong", {}, amount),
    el("span", { class: "hint" }, ` / ${unit}`),
    el("small", { class: "mapped" }, factorsText(model)),
  );
}

/** Formats what costs more or less than the price: "đầu ra × 4 · đọc từ bộ nhớ đệm × 0,1". */
function factorsText({ price_factors }: Model): string {
  return Object.entries(price_factors)
    .map(([kind, factor]) => `${t(`price.kind.${kind}` as Text)} × ${number(factor, 6)}`)
    .join(" · ");
}

/** Formats a price with its unit: "36.000 đ / 1 triệu token". */
export function priceText({ price_unit, price_vnd }: Model): string {
  const price = number(price_vnd);
  if (price_unit === "mtok") return t("price.mtok", { price });
  return price_unit === "call" ? t("price.call", { price }) : t("price.image", { price });
}

function endpointOf({ standard }: Model): string {
  if (standard === "messages") return "/v1/messages";
  if (standard === "chat") return "/v1/chat/completions";
  return standard === "images" ? "/v1/images/generations" : "/v1/audio/speech";
}
