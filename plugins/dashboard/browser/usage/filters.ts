import type { Key, Model } from "../contract.ts";
import { el } from "../dom.ts";
import { choice, field } from "../form.ts";
import { dayBefore } from "../format.ts";
import { t } from "../text.ts";

/** Query parameters for the API. An empty string means all. */
export interface Filter {
  readonly from: string;
  readonly to: string;
  readonly model: string;
  readonly key: string;
  readonly status: string;
}

const PERIODS = ["1", "7", "30", "90", "365"] as const;
const PERIOD_DEFAULT = "30";

/** The filter form: period, model, key and status. Calls `changed` on every change. */
export function filterBar(
  models: readonly Model[],
  keys: readonly Key[],
  changed: (filter: Filter) => void,
): { element: HTMLElement; value: () => Filter } {
  const all = ["", t("usage.all")] as const;
  const period = choice(
    t("usage.period"),
    [
      ...PERIODS.map((days) => [days, t(`usage.period.${days}`)] as const),
      ["own", t("usage.period.own")],
    ],
    PERIOD_DEFAULT,
  );
  const from = field(t("usage.from"), { type: "date", max: dayBefore(0) });
  const to = field(t("usage.to"), { type: "date", max: dayBefore(0) });
  const model = choice(t("calls.model"), [all, ...models.map(({ id }) => [id, id] as const)]);
  const key = choice(t("calls.key"), [
    all,
    ...keys.map(({ id, name, prefix }) => [id, `${name} (${prefix})`] as const),
  ]);
  const status = choice(t("calls.status"), [
    all,
    ["ok", t("usage.status.ok")],
    ["failed", t("usage.status.failed")],
    ...["400", "429", "500", "502", "504"].map((code) => [code, code] as const),
  ]);
  const value = (): Filter => ({
    from: from.input.value,
    to: to.input.value,
    model: model.select.value,
    key: key.select.value,
    status: status.select.value,
  });
  const setPeriod = () => {
    const isOwn = period.select.value === "own";
    from.element.hidden = !isOwn;
    to.element.hidden = !isOwn;
    if (isOwn) return;
    from.input.value = dayBefore(Number(period.select.value) - 1);
    to.input.value = dayBefore(0);
  };
  setPeriod();
  period.select.addEventListener("change", setPeriod);
  const element = el(
    "form",
    { class: "card filters", "aria-label": t("usage.filters"), onchange: () => changed(value()) },
    [period, from, to, model, key, status].map((one) => one.element),
  );
  element.addEventListener("submit", (event) => event.preventDefault());
  return { element, value };
}
