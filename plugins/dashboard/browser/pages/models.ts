import { badge } from "../../../page-parts/browser/badge.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, field } from "../../../page-parts/browser/form.ts";
import {
  dateTime,
  factorsText,
  number,
  priceText,
  tokenLimit,
} from "../../../page-parts/browser/format.ts";
import { pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { type Column, lineOf, table } from "../../../page-parts/browser/table.ts";
import { get } from "../api.ts";
import type { Catalogue, Model } from "../contract.ts";
import { byMaker } from "../makers.ts";
import { t } from "../text.ts";
import type { Text } from "../text-en.ts";
import { isWide } from "../wide.ts";

/** Filters of the list by price unit and channel. */
const KINDS = {
  all: () => true,
  token: (model: Model) => model.price_unit === "mtok" && model.channel === "standard",
  call: (model: Model) => model.price_unit === "call" && isChat(model),
  aws: (model: Model) => model.channel === "aws",
  media: (model: Model) => !isChat(model),
} as const satisfies Readonly<Record<string, (model: Model) => boolean>>;

/** Orders of the models of a maker. */
const SORTS = {
  offered: () => 0,
  price: (a: Model, b: Model) =>
    UNITS.indexOf(a.price_unit) - UNITS.indexOf(b.price_unit) || a.price_vnd - b.price_vnd,
  context: (a: Model, b: Model) => (b.context_window ?? 0) - (a.context_window ?? 0),
} as const satisfies Readonly<Record<string, (a: Model, b: Model) => number>>;
const UNITS: readonly Model["price_unit"][] = ["mtok", "call", "image"];

/** The models by their makers, to search, filter and sort. */
export async function render({ root, signal }: PageContext): Promise<void> {
  fill(root, pageHead(t("nav.models"), t("models.lead")), waiting());
  const { models } = await get<Catalogue>("/catalogue");
  if (signal.aborted) return;
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const search = field(t("models.search"), { type: "search", autocomplete: "off", value: query });
  const kind = choice(
    t("models.kind"),
    namesOf(KINDS).map((name) => [name, t(`models.kind.${name}`)] as const),
  );
  const label = choice(t("models.label"), [
    ["", t("models.kind.all")],
    ["reasoning", t("label.reasoning")],
    ["vision", t("label.vision")],
    ["tools", t("label.tools")],
  ]);
  const sort = choice(
    t("models.sort"),
    namesOf(SORTS).map((name) => [name, t(`models.sort.${name}`)] as const),
  );
  const count = el("p", { class: "hint", role: "status" });
  const list = el("div", { class: "grid" });
  const refresh = () => {
    const words = search.input.value.toLowerCase().split(/\s+/);
    const isWanted = KINDS[kind.select.value as keyof typeof KINDS];
    const wantedLabel = label.select.value;
    const found = models
      .filter(
        (model) =>
          isWanted(model) &&
          (wantedLabel === "" || model.labels.includes(wantedLabel)) &&
          words.every((word) => model.id.toLowerCase().includes(word)),
      )
      .sort(SORTS[sort.select.value as keyof typeof SORTS]);
    count.textContent = t("models.count", { count: found.length });
    const isAll = found.length === models.length;
    const groups = byMaker(found).map(([maker, own], at) =>
      group(maker || t("models.others"), own, isAll ? at === 0 && isWide() : true),
    );
    fill(list, groups.length > 0 ? groups : nothing());
  };
  const nothing = () => {
    const reset = () => {
      search.input.value = "";
      kind.select.value = "all";
      label.select.value = "";
      refresh();
      search.input.focus();
    };
    return el(
      "div",
      { class: "card empty" },
      el("p", {}, t("models.none")),
      el("button", { type: "button", onclick: reset }, t("models.reset")),
    );
  };
  for (const control of [search.input, kind.select, label.select, sort.select]) {
    control.addEventListener("input", refresh);
  }
  refresh();
  fill(
    root,
    pageHead(t("nav.models"), t("models.lead")),
    el(
      "div",
      { class: "card filters", role: "search" },
      [search, kind, label, sort].map(({ element }) => element),
    ),
    count,
    list,
  );
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(table) as Name[];
}

function group(maker: string, models: readonly Model[], open: boolean): HTMLElement {
  const columns = columnsOf();
  return el(
    "details",
    { class: "card", open },
    el("summary", {}, maker, " ", badge("", models.length)),
    table(
      maker,
      columns,
      models.map((model) => lineOf(columns, model)),
      "data models",
    ),
  );
}

function isChat({ standard }: Model): boolean {
  return standard === "messages" || standard === "chat";
}

/** The columns of a model. The style sheet places their cells by their kinds if they do not fit the screen. */
function columnsOf(): readonly Column<Model>[] {
  const limit = (tokens: number | null) =>
    tokens === null ? "–" : el("span", { title: number(tokens) }, tokenLimit(tokens));
  return [
    {
      title: t("model"),
      kind: "id",
      cell: ({ id }) =>
        el(
          "span",
          { class: "model-id" },
          el("code", {}, id),
          copyButton(t("models.copy", { id }), () => id, ""),
        ),
    },
    { title: t("models.price"), kind: "number price", cell: priceCell },
    {
      title: t("models.context"),
      kind: "number context",
      cell: ({ max_input_tokens, context_window }) => limit(max_input_tokens ?? context_window),
    },
    {
      title: t("models.output"),
      kind: "number output",
      cell: ({ max_output_tokens }) => limit(max_output_tokens),
    },
    {
      title: t("models.labels"),
      kind: "labels",
      cell: ({ channel, labels }) =>
        el(
          "span",
          { class: "badges" },
          channel === "aws" && badge("info", "AWS"),
          labels
            .filter((label) => label !== "streaming")
            .map((label) => badge("", t(`label.${label}` as Text))),
        ),
    },
  ];
}

/** Returns the announced price with its date; empty if there is none. */
function nextPriceText({ price_unit, next_price: next }: Model): string {
  if (next === null) return "";
  const factors = factorsText(next.price_factors);
  const price = priceText({ price_unit, price_vnd: next.price_vnd });
  return t("models.next", {
    date: dateTime(next.from),
    price: factors === "" ? price : `${price} · ${factors}`,
  });
}

function priceCell(model: Model): HTMLElement {
  const [amount, unit = ""] = priceText(model).split(" / ");
  return el(
    "span",
    { class: "price" },
    el("strong", {}, amount),
    el("span", { class: "hint" }, ` / ${unit}`),
    el("small", { class: "mapped" }, factorsText(model.price_factors)),
    el("small", { class: "mapped" }, nextPriceText(model)),
  );
}
