import { el, fill } from "../../page-parts/browser/dom.ts";
import { allowsModel } from "../../page-parts/browser/key-limits.ts";
import type { Key } from "./contract.ts";

/** Lists the models that a key is for, or all if it is for none of them. Keeps the chosen one if it can. */
export function offerModels(
  select: HTMLSelectElement,
  ids: readonly string[],
  key: Key | undefined,
): void {
  const before = select.value;
  const allowed = ids.filter((id) => allowsModel(key?.limits ?? {}, id));
  fill(
    select,
    (allowed.length > 0 ? allowed : ids).map((id) =>
      el("option", { value: id, selected: id === before }, id),
    ),
  );
}
