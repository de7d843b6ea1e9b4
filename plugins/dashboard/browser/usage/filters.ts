import { el, fill } from "../../../page-parts/browser/dom.ts";
import { choice, field } from "../../../page-parts/browser/form.ts";
import { dayBefore } from "../../../page-parts/browser/format.ts";
import type { Member, Model } from "../contract.ts";
import { t } from "../text.ts";
import type { Bar } from "./stack.ts";

/** Query parameters for the API. An empty string means all. */
export interface Filter {
  readonly from: string;
  readonly to: string;
  readonly model: string;
  readonly key: string;
  /** Of the team; always empty for those who have none. */
  readonly member: string;
  readonly status: string;
}

interface FilterBar {
  readonly element: HTMLElement;
  /** Returns undefined if the days are in the wrong order; the form says so. */
  readonly value: () => Filter | undefined;
  /** Sets the period to these days, as the customer would. */
  readonly choosePeriod: (days: Bar) => void;
}

const PERIODS = ["1", "7", "30", "90", "365"] as const;
const PERIOD_DEFAULT = "30";
const OWN = "own";
/** Statuses of refused and failed calls. Each has a text `usage.status.CODE`. */
const STATUSES = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504] as const;
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * The filter form: period, model, key and status. The address has what is chosen, so that a reload or a bookmark shows
 * the same. Calls `changed` on every change.
 */
export function filterBar(
  models: readonly Model[],
  keys: ReadonlyMap<string, string>,
  members: readonly Member[],
  changed: () => void,
): FilterBar {
  const asked = new URLSearchParams(location.search);
  const given = (name: string) => asked.get(name) ?? "";
  const all = ["", t("all")] as const;
  const isOwn = asked.has("from") || asked.has("to");
  const period = choice(
    t("usage.period"),
    [
      ...PERIODS.map((days) => [days, t(`usage.period.${days}`)] as const),
      [OWN, t("usage.period.own")],
    ],
    isOwn ? OWN : (PERIODS.find((days) => days === given("days")) ?? PERIOD_DEFAULT),
  );
  const from = field(t("from"), { type: "date", max: dayBefore(0) });
  const to = field(t("to"), { type: "date", max: dayBefore(0) });
  const model = choice(
    t("model"),
    [
      all,
      ...withGiven(
        models.map(({ id }) => [id, id] as const),
        given("model"),
      ),
    ],
    given("model"),
  );
  const key = choice(t("calls.key"), [all, ...keys], given("key"));
  const member = choice(
    t("team.member"),
    [
      all,
      ...withGiven(
        members.map(({ id, email, state }) => [
          id,
          state === "removed" ? `${email} (${t("team.state.removed")})` : email,
        ]),
        given("member"),
      ),
    ],
    given("member"),
  );
  member.element.hidden = members.length === 0 && given("member") === "";
  const status = choice(
    t("status"),
    [
      all,
      ["ok", t("usage.status.ok")],
      ["failed", t("usage.status.failed")],
      ...STATUSES.map((code) => [String(code), `${code} · ${t(`usage.status.${code}`)}`] as const),
    ],
    given("status"),
  );
  const problem = el("p", { class: "problem", role: "alert" });

  const setPeriod = () => {
    const { value } = period.select;
    for (const { element } of [from, to]) element.hidden = value !== OWN;
    if (value === OWN) return;
    from.input.value = dayBefore(Number(value) - 1);
    to.input.value = dayBefore(0);
  };
  setPeriod();
  if (isOwn) {
    from.input.value = DAY.test(given("from")) ? given("from") : "";
    to.input.value = DAY.test(given("to")) ? given("to") : "";
  }

  const value = (): Filter | undefined => {
    const days = { from: from.input.value, to: to.input.value };
    if (days.from !== "" && days.to !== "" && days.from > days.to) return undefined;
    return {
      ...days,
      model: model.select.value,
      key: key.select.value,
      member: member.select.value,
      status: status.select.value,
    };
  };
  const apply = () => {
    const filter = value();
    fill(problem, filter ? null : t("usage.order"));
    if (filter) {
      const { from, to, ...others } = filter;
      const days = period.select.value;
      const own = days === OWN ? { from, to } : { days: days === PERIOD_DEFAULT ? "" : days };
      const kept = Object.entries({ ...own, ...others }).filter(([, chosen]) => chosen !== "");
      const search = new URLSearchParams(kept).toString();
      history.replaceState(null, "", search === "" ? location.pathname : `?${search}`);
    }
    changed();
  };
  period.select.addEventListener("change", setPeriod);
  const element = el(
    "form",
    { class: "card filters", "aria-label": t("filters"), onchange: apply },
    [period, from, to, model, key, member, status].map((one) => one.element),
    problem,
  );
  element.addEventListener("submit", (event) => event.preventDefault());
  return {
    element,
    value,
    choosePeriod: ({ first, last }) => {
      period.select.value = OWN;
      setPeriod();
      from.input.value = first;
      to.input.value = last;
      apply();
    },
  };
}

/** Adds what the address asks for, such as a model that is no longer sold. */
function withGiven(
  options: readonly (readonly [string, string])[],
  given: string,
): readonly (readonly [string, string])[] {
  const isKnown = given === "" || options.some(([value]) => value === given);
  return isKnown ? options : [...options, [given, given]];
}
