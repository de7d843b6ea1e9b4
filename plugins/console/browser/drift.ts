import { toast } from "../../page-parts/browser/announce.ts";
import { openDialog } from "../../page-parts/browser/dialog.ts";
import { type Child, el } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { field, notice } from "../../page-parts/browser/form.ts";
import { exactVnd, number } from "../../page-parts/browser/format.ts";
import { pairs } from "../../page-parts/browser/table.ts";
import { openChange } from "./change.ts";
import { commandLine, commandText } from "./command-line.ts";
import type { Drift, Reconciled } from "./contract.ts";
import { get, may } from "./session.ts";
import { t } from "./text.ts";

type Row = Pick<Reconciled["rows"][number], "account_id" | "purse">;

/** Opens the figures of a wallet or a purse that drifts, with the form that mends it if one does. */
export async function openDrift({ account_id: account, purse }: Row, done: () => void) {
  const path = `/accounts/${account}/drift`;
  const named = purse === null ? {} : { purse };
  let drift: Drift;
  try {
    drift = await get<Drift>(path, { ...named, language: document.documentElement.lang });
  } catch (error) {
    return toast(failureText(error));
  }
  const about = el("div", { class: "stack" }, notice("info", drift.next), figuresOf(drift));
  if (!drift.can_be_mended || !may("money")) {
    const command = commandLine(commandText("drift show", { account, ...named }));
    openDialog(t("drift"), el("div", { class: "stack" }, about, command));
    return;
  }
  const reason = field(t("reason"), { maxlength: 500, value: "drift" });
  openChange({
    title: t("drift"),
    about,
    fields: [reason],
    path,
    command: "drift mend",
    of: { account },
    given: () => ({
      ...named,
      difference_vnd: drift.difference_vnd,
      reason: reason.input.value,
    }),
    action: t("drift.mend"),
    movesMoney: purse === null,
    done,
  });
}

function figuresOf(drift: Drift): HTMLElement {
  const row = (name: Parameters<typeof t>[0], amount: string | null | undefined) =>
    amount === undefined
      ? []
      : [[t(name), amount === null ? t("unknown") : exactVnd(amount)] as const];
  const rows: (readonly [string, Child])[] = [
    ...row("drift.proven", drift.proven_vnd),
    ...row("drift.difference", drift.difference_vnd),
    ...row("drift.balance", drift.balance_vnd),
    ...row("drift.rows", drift.rows_vnd),
    ...row("drift.last", drift.last_row_vnd),
    ...row("drift.loaded", drift.loaded_vnd),
    ...row("drift.quarantined", drift.quarantined_vnd),
    ...row("drift.added", drift.added_by_rows_vnd),
    ...row("drift.credited", drift.added_by_sums_vnd),
    ...row("drift.taken", drift.taken_by_rows_vnd),
    ...row("drift.charged", drift.charged_by_rows_vnd),
    ...row("drift.usage", drift.charged_by_usage_vnd),
    ...(drift.broken_rows === undefined
      ? []
      : [[t("drift.broken"), number(drift.broken_rows)] as const]),
  ];
  return pairs(rows);
}
