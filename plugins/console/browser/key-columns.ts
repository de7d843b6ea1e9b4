import { badge } from "../../page-parts/browser/badge.ts";
import { copyButton } from "../../page-parts/browser/copy.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { hasEnded } from "../../page-parts/browser/key-limits.ts";
import type { Column } from "../../page-parts/browser/table.ts";
import type { Key } from "./contract.ts";
import { openLimits, openPause, openRevoke } from "./key-changes.ts";
import { smallButton } from "./section.ts";
import { may } from "./session.ts";
import { stateBadge } from "./state-badge.ts";
import { t } from "./text.ts";

/** The columns of keys that say if one is in use, and change that: as a customer's page has them, and the search. */
export function keyChangeColumns(done: () => Promise<void>): readonly Column<Key>[] {
  return [
    {
      title: t("customers.state"),
      cell: ({ status, limits }) => {
        if (status === "active" && hasEnded(limits)) return badge("bad", t("keys.ended"));
        if (status === "active" && limits.paused) return badge("info", t("state.paused"));
        return stateBadge(status);
      },
    },
    {
      title: t("actions"),
      cell: (key) =>
        el(
          "span",
          { class: "row" },
          key.status === "active" &&
            may("support") && [
              smallButton(t("keys.limits"), key.name, () => openLimits(key, done)),
              smallButton(t(key.limits.paused ? "key.resume" : "key.pause"), key.name, () =>
                openPause(key, done),
              ),
              smallButton(t("keys.revoke"), key.name, () => openRevoke(key, done), "danger"),
            ],
          copyButton(`${t("key.id")}: ${key.name}`, () => key.id, t("key.id")),
        ),
    },
  ];
}
