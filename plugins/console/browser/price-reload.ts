import { type Child, el, fill } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { notice } from "../../page-parts/browser/form.ts";
import { dateTime, number } from "../../page-parts/browser/format.ts";
import { card } from "../../page-parts/browser/page-head.ts";
import type { Column } from "../../page-parts/browser/table.ts";
import { openAnnouncement } from "./announcement.ts";
import { openChange, reasonField } from "./change.ts";
import { commandLine, commandText } from "./command-line.ts";
import type { PriceChange, Reloaded } from "./contract.ts";
import { section } from "./section.ts";
import { hasCommand, may, post } from "./session.ts";
import { t } from "./text.ts";

/** Reads the config's file again: first what it would change, then, after a second look, at every gateway. */
export function reloadPart(): HTMLElement {
  const place = el("div", { class: "grid" });
  const check = el("button", { type: "button", class: "primary" }, t("reload.check"));
  check.addEventListener("click", async () => {
    if (check.getAttribute("aria-busy") === "true") return;
    check.setAttribute("aria-busy", "true");
    try {
      show(await post<Reloaded>("/reload", { check: true }));
    } catch (error) {
      // Mistakes in the file are listed line by line.
      fill(place, notice("bad", el("pre", {}, failureText(error))));
    }
    check.removeAttribute("aria-busy");
  });

  function show(found: Reloaded): void {
    fill(place, outcome(found), changesOf(found), draftOf(found));
  }

  function outcome({ applied, models, catalogue_version, needs_restart }: Reloaded): Child {
    const about = t("reload.found", { count: number(models), version: catalogue_version });
    const restart =
      needs_restart.length > 0 &&
      notice("info", t("reload.restart", { names: needs_restart.join(", ") }));
    if (applied) return [notice("good", t("reload.done"), " ", about), restart];
    if (!may("operations")) return notice("info", about);
    const apply = el("button", { type: "button", class: "primary" }, t("reload.apply"));
    apply.addEventListener("click", () => openReload(show));
    return notice("info", el("p", {}, about), apply);
  }

  return el(
    "div",
    { class: "grid" },
    card(
      t("reload"),
      el("p", {}, t("reload.about")),
      may("operations")
        ? el("div", { class: "row" }, check)
        : notice("info", t("error.role_forbids")),
      commandLine(`${commandText("reload")} --check`),
    ),
    place,
  );
}

function openReload(done: (found: Reloaded) => void): void {
  const reason = reasonField();
  openChange({
    title: t("reload.apply"),
    about: el("p", {}, t("reload.apply.about")),
    fields: [reason],
    path: "/reload",
    command: "reload",
    given: () => ({ reason: reason.input.value }),
    isDangerous: true,
    done: (reply) => done(reply as Reloaded),
  });
}

function changesOf({ applied, changes }: Reloaded): HTMLElement {
  return section({
    title: t("reload.changes"),
    rows: changes,
    columns: priceColumns(),
    none: t("reload.changes.none"),
    file: "price-changes",
    command: commandText("reload") + (applied ? "" : " --check"),
  });
}

/** The announcement that customers may get, to be edited and sent. */
function draftOf({ announcement_vi: vi, announcement_en: en }: Reloaded): Child {
  if (vi === undefined || en === undefined) return false;
  const send = el("button", { type: "button" }, t("announce"));
  send.addEventListener("click", () => openAnnouncement({ vi, en, kind: "prices" }));
  return card(
    t("reload.draft"),
    el("pre", { lang: "vi" }, vi),
    el("pre", { lang: "en" }, en),
    hasCommand("announce") && el("div", { class: "row" }, send),
  );
}

/** The columns of changes of prices: from what to what. */
export function priceColumns<Row extends PriceChange>(): Column<Row>[] {
  return [
    {
      title: t("model"),
      cell: ({ model, kind }) => [model ?? "", " ", el("small", { class: "hint" }, kind)],
    },
    { title: t("audit.what"), cell: ({ change }) => t(`price.change.${change}`) },
    { title: t("price.from"), isNumber: true, cell: ({ from, unit }) => amount(from, unit) },
    { title: t("price.to"), isNumber: true, cell: ({ to, unit }) => amount(to, unit) },
    {
      title: "%",
      isNumber: true,
      cell: ({ percent }) =>
        percent === null
          ? ""
          : el(
              "span",
              { class: percent < 0 && "below" },
              `${percent > 0 ? "+" : ""}${number(percent, 2)}%`,
            ),
    },
    {
      title: t("price.effect"),
      cell: ({ takes_effect }) => (takes_effect === null ? t("price.now") : dateTime(takes_effect)),
    },
  ];
}

function amount(value: string | null, unit: string): string {
  return value === null ? "–" : `${number(Number(value), 6)} ${unit}`;
}
