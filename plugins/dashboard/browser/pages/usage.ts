import { el, fill } from "../../../page-parts/browser/dom.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { decimalMark } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { Catalogue, KeyList } from "../contract.ts";
import { fileLink } from "../file-link.ts";
import { keyNames } from "../key-names.ts";
import { ownMembers } from "../team-members.ts";
import { t } from "../text.ts";
import { usageCharts } from "../usage/charts.ts";
import { loadPlot } from "../usage/draw-stack.ts";
import { csvExplanation } from "../usage/export.ts";
import { filterBar } from "../usage/filters.ts";
import { refusedCalls } from "../usage/refused.ts";
import { usageTable } from "../usage/table.ts";

export async function render({ root, signal }: PageContext): Promise<void> {
  fill(root, pageHead(t("nav.usage"), t("usage.lead")), waiting());
  // For the chart, which reports it if that fails.
  loadPlot().catch(() => {});
  const [{ models }, { data: keys }, members] = await Promise.all([
    get<Catalogue>("/catalogue"),
    get<KeyList>("/keys"),
    ownMembers(),
  ]);
  if (signal.aborted) return;
  const names = keyNames(keys, members);
  const charts = usageCharts(names, signal, (bar) => filters.choosePeriod(bar));
  const table = usageTable(signal);
  const refused = refusedCalls(signal);
  const file = fileLink(t("csv.export"));
  const results = el("div", { class: "grid" });
  const changed = () => {
    const filter = filters.value();
    for (const part of [results, file.element]) part.hidden = filter === undefined;
    if (!filter) return undefined;
    const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));
    file.lead("/usage.csv", { ...given, decimal: decimalMark() });
    return [charts.show(filter), table.show(filter), refused.show(filter)];
  };
  const filters = filterBar(models, names, members, changed);
  fill(root, pageHead(t("nav.usage"), t("usage.lead"), file.element), filters.element, results);
  // One after the other, so that no part moves when another one grows.
  const loaded = changed() ?? [];
  for (const part of [charts.element, card(t("usage.records"), table.element), refused.element]) {
    results.append(part);
    await loaded.shift();
  }
  if (signal.aborted) return;
  results.append(csvExplanation(), el("p", { class: "hint" }, t("usage.retention")));
}
