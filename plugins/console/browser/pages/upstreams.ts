import { badge } from "../../../page-parts/browser/badge.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, notice } from "../../../page-parts/browser/form.ts";
import { ago, number, seconds, vnd } from "../../../page-parts/browser/format.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import type { Column } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { openChange, reasonField } from "../change.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Upstream } from "../contract.ts";
import { downloadCsv } from "../download.ts";
import { redraw, showFresh } from "../live.ts";
import { smallButton, subsection } from "../section.ts";
import { get, hasCommand, may, post } from "../session.ts";
import { t } from "../text.ts";
import { periodOf } from "../time-bars.ts";
import {
  csvFigures,
  readFigures,
  type UpstreamFigures,
  upstreamFigures,
  upstreamRoutes,
} from "../upstream-figures.ts";

type ProviderKey = Upstream["keys"][number];

interface Trial {
  readonly served: boolean;
  readonly status: number | null;
  readonly reason?: string | null;
  readonly latency_ms: number | null;
  readonly price_vnd: string | null;
}

/** The providers: their state and keys as this process sees them, and their figures from all gateways. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" }, waiting());
  let latest: readonly Upstream[] = [];
  let known: UpstreamFigures | undefined;
  const file = el(
    "button",
    {
      type: "button",
      onclick: () =>
        downloadCsv(
          "upstreams",
          latest.map(({ breakers: _, keys: __, routes: ___, ...row }) => ({
            ...row,
            ...(known && csvFigures(row.name, known)),
          })),
        ),
    },
    t("list.csv"),
  );
  fill(root, pageHead(t("nav.upstreams"), t("upstreams.lead"), file), place);
  const refresh = async () => {
    const asked = new URLSearchParams(location.search);
    const [{ upstreams, process }, figures] = await Promise.all([
      get<{ process: number; upstreams: Upstream[] }>("/upstreams"),
      readFigures(asked.get("period") === "day" ? "hour" : "minute"),
    ]);
    // A form stays as it is until it is closed.
    if (signal.aborted || document.querySelector("dialog[open]")) return false;
    latest = upstreams;
    known = figures;
    const shown = asked.get("state") === "trouble" ? upstreams.filter(isTroubled) : upstreams;
    redraw(
      place,
      filterLinks(asked),
      shown.map((upstream) => one(upstream, figures, async () => void (await refresh()))),
      shown.length === 0 && notice("good", t("upstreams.well")),
      el("p", { class: "hint" }, t("upstreams.process", { process })),
      commandLine(commandText("upstreams")),
      figures &&
        commandLine(commandText("traffic", { by: "upstream", ...periodOf(figures.steps) })),
    );
    return true;
  };
  await showFresh(place, signal, refresh);
}

function filterLinks(asked: URLSearchParams): HTMLElement {
  const link = (name: string, value: string, text: string) => {
    const query = new URLSearchParams(asked);
    if (value === "") query.delete(name);
    else query.set(name, value);
    const isShown = (asked.get(name) ?? "") === value;
    return el(
      "a",
      {
        class: "button",
        href: `${BASE}/upstreams${query.size === 0 ? "" : `?${query}`}`,
        "aria-current": isShown ? "page" : undefined,
      },
      text,
    );
  };
  return el(
    "div",
    { class: "row spread" },
    el(
      "p",
      { class: "row" },
      link("state", "", t("all")),
      link("state", "trouble", t("upstreams.trouble")),
    ),
    hasCommand("traffic") &&
      el(
        "p",
        { class: "row" },
        link("period", "", t("upstreams.period.hour")),
        link("period", "day", t("upstreams.period.day")),
      ),
  );
}

function isTroubled({ breaker, keys, switched_off }: Upstream): boolean {
  const isKeyOff = keys.some(({ switched, rests }) => switched === "off" || rests.length > 0);
  return breaker !== "closed" || switched_off.length > 0 || isKeyOff;
}

function one(
  upstream: Upstream,
  figures: UpstreamFigures | undefined,
  done: () => Promise<void>,
): HTMLElement {
  const { name, kind, breaker, breakers, switched_off, keys } = upstream;
  const isOff = switched_off.includes("all models");
  const failing = breakers.filter(({ last_failure }) => last_failure !== null);
  return card(
    el(
      "span",
      { class: "row spread" },
      el("span", {}, name, " ", el("small", { class: "hint" }, kind)),
      el(
        "span",
        { class: "row" },
        badge(
          breaker === "closed" ? "good" : "bad",
          breaker === "closed" ? t("upstreams.well") : breaker,
        ),
        isOff && badge("bad", t("upstreams.off")),
      ),
    ),
    switched_off.length > 0 &&
      !isOff &&
      notice(
        "info",
        el("p", {}, t("upstreams.models.off")),
        el(
          "p",
          { class: "row" },
          switched_off.map((model) => [
            el("code", {}, model),
            hasCommand("upstream off") &&
              may("operations") &&
              smallButton(t("upstreams.on"), `${name} ${model}`, () =>
                openSwitch({ name, model, off: false, done }),
              ),
          ]),
        ),
      ),
    figures && upstreamFigures(name, figures),
    keys.length > 0 &&
      subsection({
        title: t("upstreams.keys", { name }),
        rows: keys,
        columns: keyColumns(name, done),
        none: "",
        file: `keys-${name}`,
        command: commandText("upstreams"),
      }),
    failing.length > 0 &&
      subsection({
        title: t("upstreams.models", { name }),
        rows: failing,
        columns: [
          { title: t("model"), cell: ({ model }) => model ?? t("all") },
          {
            title: t("customers.state"),
            cell: ({ breaker }) => badge(breaker === "closed" ? "good" : "bad", breaker),
          },
          {
            title: t("upstreams.last"),
            cell: ({ last_failure }) => last_failure && failureText(last_failure),
          },
        ],
        none: "",
        file: `failing-${name}`,
        command: commandText("upstreams"),
      }),
    upstreamRoutes(upstream),
    hasCommand("upstream off") &&
      may("operations") &&
      el(
        "div",
        { class: "row" },
        smallButton(isOff ? t("upstreams.on") : t("upstreams.switch"), name, () =>
          openSwitch({ name, off: !isOff, done }),
        ),
        smallButton(t("upstreams.try"), name, () => openTrial(name)),
      ),
  );
}

function keyColumns(name: string, done: () => Promise<void>): Column<ProviderKey>[] {
  return [
    { title: t("upstreams.key"), cell: ({ key }) => el("code", {}, key ?? "–") },
    {
      title: t("customers.state"),
      cell: ({ switched, rests }): Child => {
        if (switched === "off") return badge("bad", t("upstreams.off"));
        if (rests.length === 0) return badge("good", t("state.active"));
        return rests.map(({ model, cause, wakes_in_ms }) =>
          badge("bad", `${model ?? ""} ${cause}, ${seconds(wakes_in_ms)}`),
        );
      },
    },
    {
      title: t("upstreams.used"),
      cell: ({ last_used }) => (last_used === null ? "–" : ago(last_used)),
    },
    {
      title: t("upstreams.last"),
      cell: ({ failures, last_failure }) =>
        last_failure === null ? number(failures) : failureText(last_failure),
    },
    {
      title: t("actions"),
      cell: ({ key, switched }) => {
        if (key === null || !hasCommand("upstream off") || !may("operations")) return false;
        const isOff = switched === "off";
        return smallButton(
          isOff ? t("upstreams.on") : t("upstreams.switch"),
          `${name} ${key}`,
          () => openSwitch({ name, key: key.slice(-4), off: !isOff, done }),
        );
      },
    },
  ];
}

function failureText({ at, reason }: { readonly at: string; readonly reason: string }): string {
  return `${reason}, ${ago(at)}`;
}

interface Switch {
  readonly name: string;
  readonly key?: string;
  readonly model?: string;
  readonly off: boolean;
  readonly done: () => Promise<void>;
}

/** Without a key or a model, the form asks for a model. */
function openSwitch({ name, key, model, off, done }: Switch): void {
  const asked = field(t("upstreams.model"), { maxlength: 200 }, t("upstreams.model.hint"));
  const reason = reasonField();
  const isAsked = key === undefined && model === undefined;
  const place = () => (key === undefined ? { model: model ?? asked.input.value } : { key });
  const title = off ? t("upstreams.switch") : t("upstreams.on");
  openChange({
    title: `${title}: ${name}${key === undefined ? "" : ` …${key}`}${model === undefined ? "" : ` ${model}`}`,
    about: off && el("p", {}, t("upstreams.switch.about")),
    fields: isAsked ? [asked, reason] : [reason],
    path: `/upstreams/${encodeURIComponent(name)}/switch`,
    command: off ? "upstream off" : "upstream on",
    of: { name },
    given: () => ({ ...place(), reason: reason.input.value }),
    body: () => ({ ...place(), off, reason: reason.input.value }),
    action: title,
    isDangerous: off,
    done,
  });
}

/** Makes one real call, which the provider bills. */
function openTrial(name: string): void {
  const model = field(t("model"), { required: true, maxlength: 200 });
  const result = el("div", { role: "status" });
  openChange({
    title: `${t("upstreams.try")}: ${name}`,
    about: [el("p", {}, t("upstreams.try.about")), result],
    fields: [model],
    path: `/upstreams/${encodeURIComponent(name)}/try`,
    command: "upstream try",
    of: { name },
    given: () => ({ model: model.input.value }),
    action: t("upstreams.try"),
    async send(path, body) {
      fill(result);
      const trial = await post<Trial>(path, body);
      const { served, status, reason, latency_ms, price_vnd } = trial;
      const words = [
        status ?? "",
        reason ?? "",
        latency_ms === null ? "" : seconds(latency_ms),
        price_vnd === null ? "" : vnd(price_vnd),
      ];
      fill(
        result,
        notice(served ? "good" : "bad", words.filter((word) => word !== "").join(" · ")),
      );
    },
  });
}
