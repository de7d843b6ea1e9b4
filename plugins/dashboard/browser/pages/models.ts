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

const COLUMNS = ["models.id", "models.price", "models.context", "models.output", "models.labels"];
/** Class names for the cells. The style sheet uses them when the columns do not fit the screen. */
const CELLS = ["id", "number price", "number context", "number output", "labels"] as const;

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
  return el(
    "details",
    { class: "card", open },
    el("summary", {}, maker, " ", el("span", { class: "badge" }, models.length)),
    el(
      "table",
      { class: "data models" },
      el("caption", { class: "hidden" }, maker),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          COLUMNS.map((name, at) => el("th", { scope: "col", class: CELLS[at] }, t(name as Text))),
        ),
      ),
      el("tbody", {}, models.map(row)),
    ),
  );
}

function isChat({ standard }: Model): boolean {
  return standard === "messages" || standard === "chat";
}

function row(model: Model): HTMLElement {
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
    limit(model.max_input_tokens ?? model.context_window),
    limit(model.max_output_tokens),
    el(
      "span",
      { class: "badges" },
      model.channel === "aws" && el("span", { class: "badge info" }, "AWS"),
      model.labels
        .filter((label) => label !== "streaming")
        .map((label) => el("span", { class: "badge" }, t(`label.${label}` as Text))),
    ),
  ];
  return el(
    "tr",
    {},
    cells.map((cell, at) =>
      el("td", { "data-label": t(COLUMNS[at] as Text), class: CELLS[at] }, cell),
    ),
  );
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
