import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import {
  ago,
  dateTime,
  dayBefore,
  exactVnd,
  minuteOf,
  monthName,
  number,
  vnd,
} from "../../../page-parts/browser/format.ts";
import { card, failed, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { figures } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { openChange } from "../change.ts";
import { commandLine, commandText } from "../command-line.ts";
import type {
  ArchivedMonth,
  Hold,
  MoneyReport,
  Quarantined,
  Reconciled,
  System,
} from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { openDrift } from "../drift.ts";
import { movedFigure, owedFigure } from "../movements.ts";
import { section, smallButton, subsection } from "../section.ts";
import { get, hasCommand, may } from "../session.ts";
import { booksTasks, taskList } from "../tasks.ts";
import { t } from "../text.ts";

const SHOWN_MAX = 100;

/** The proof that wallets and ledger agree, and money that has not ended as it should. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("nav.books"), t("books.lead")), proof(signal), place);
  const load = (): Promise<void> => loadInto(place, signal, () => read(load));
  await load();
}

/** Adds up all wallets when asked: it reads every row that is not added up yet. */
function proof(signal: AbortSignal): HTMLElement {
  const last = el("div");
  const about = el("p", { class: "hint" }, t("books.proof.about"));
  const place = el("div", { class: "stack" }, about, commandLine(commandText("reconcile")));
  const run = el("button", { type: "button", class: "primary" }, t("books.proof"));
  const prove = async () => {
    if (run.getAttribute("aria-busy") === "true") return;
    run.setAttribute("aria-busy", "true");
    try {
      const found = await get<Reconciled>("/reconcile");
      if (!signal.aborted)
        fill(
          place,
          proven(found, () => void prove()),
        );
    } catch (error) {
      fill(
        place,
        failed(error, () => void prove()),
      );
    }
    run.removeAttribute("aria-busy");
  };
  run.addEventListener("click", () => void prove());
  if (hasCommand("system")) {
    void get<System>("/system").then(
      (system) =>
        fill(last, taskList(booksTasks(system).map(({ kind, text }) => ({ kind, text })))),
      () => {},
    );
  }
  return card(t("books.agree"), last, el("div", { class: "row" }, run), place);
}

function proven({ drift, wallets, purses, rows, overdue }: Reconciled, again: () => void): Child[] {
  const command = commandText("reconcile");
  return [
    drift
      ? notice("bad", t("books.drift", { count: rows.length }))
      : notice("good", t("books.well", { time: dateTime(new Date().toISOString()) })),
    overdue > 0 && notice("bad", t("books.overdue", { count: overdue })),
    figures([
      { name: t("books.wallets"), value: number(wallets), href: `${BASE}/customers` },
      { name: t("books.purses"), value: number(purses), href: `${BASE}/customers?having=budgets` },
    ]),
    rows.length === 0
      ? commandLine(command)
      : subsection({
          title: t("drift"),
          rows,
          columns: [
            {
              title: t("money.owner"),
              cell: ({ account_id }) => customerLink(account_id),
            },
            { title: t("books.purse"), cell: ({ purse }) => purse ?? "" },
            {
              title: t("books.ledger"),
              isNumber: true,
              cell: ({ ledger_sum_vnd }) => exactVnd(ledger_sum_vnd),
            },
            {
              title: t("balance"),
              isNumber: true,
              cell: ({ balance_vnd }) => exactVnd(balance_vnd),
            },
            {
              title: t("books.difference"),
              isNumber: true,
              cell: ({ drift_vnd }) => el("span", { class: "below" }, exactVnd(drift_vnd)),
            },
            {
              title: t("actions"),
              cell: (row) =>
                smallButton(t("drift.open"), row.purse ?? row.account_id, () => {
                  void openDrift(row, again);
                }),
            },
          ],
          none: "",
          file: "drift",
          command,
        }),
  ];
}

async function read(done: () => Promise<void>): Promise<Child[]> {
  const today = dayBefore(0);
  const [quarantine, holds, months, money] = await Promise.all([
    get<Quarantined[]>("/quarantine", { limit: SHOWN_MAX }),
    get<Hold[]>("/holds", { limit: SHOWN_MAX }),
    get<ArchivedMonth[]>("/archive"),
    hasCommand("report") ? get<MoneyReport>("/report", { from: today, to: today }) : undefined,
  ]);
  return [
    money &&
      card(
        t("money.owed"),
        figures([
          { ...owedFigure(money), name: t("books.owed") },
          movedFigure("transfer", money, today, today),
          movedFigure("credit", money, today, today),
        ]),
        el("p", { class: "hint" }, t("books.owed.about")),
        commandLine(commandText("report", { from: today, to: today })),
      ),
    section({
      title: t("servers.quarantine"),
      rows: quarantine,
      rowsMax: SHOWN_MAX,
      columns: [
        { title: t("since"), cell: ({ since }) => dateTime(since) },
        { title: t("calls.id"), cell: ({ call_id }) => callLink(call_id) },
        { title: t("calls.charged"), isNumber: true, cell: ({ cost_vnd }) => vnd(cost_vnd) },
        { title: t("calls.cause"), cell: ({ reason }) => reason },
        {
          title: t("actions"),
          cell: ({ call_id }) =>
            may("operations") &&
            smallButton(t("servers.retry"), call_id, () => openRetry(call_id, done)),
        },
      ],
      none: notice("good", t("servers.quarantine.none")),
      file: "quarantine",
      command: commandText("quarantine list"),
    }),
    section({
      title: t("servers.holds"),
      rows: holds,
      rowsMax: SHOWN_MAX,
      columns: [
        { title: t("since"), cell: ({ since }) => ago(since) },
        {
          title: t("money.owner"),
          cell: ({ account_id }) => account_id !== null && customerLink(account_id),
        },
        { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => vnd(amount_vnd) },
        { title: t("calls.id"), cell: ({ call_id, movement }) => call_id ?? movement ?? "" },
      ],
      none: t("servers.holds.none"),
      file: "holds",
      command: commandText("holds list"),
    }),
    section({
      title: t("books.months"),
      rows: [...months].reverse(),
      columns: [
        { title: t("money.month"), cell: ({ month }) => monthName(month) },
        { title: t("books.rows"), isNumber: true, cell: monthRows },
        { title: "MB", isNumber: true, cell: ({ bytes }) => number(bytes / 1e6, 1) },
        { title: t("customers.state"), cell: ({ state }) => t(`month.${state}`) },
        {
          title: t("books.archivable"),
          cell: ({ can_be_archived }) => t(can_be_archived ? "yes" : "no"),
        },
      ],
      none: t("books.months.none"),
      file: "months",
      command: commandText("archive list"),
    }),
  ];
}

/** The rows of a month, which begins in UTC; those that were taken out of the ledger are in files. */
function monthRows({ month, state, rows }: ArchivedMonth): Child {
  if (state === "detached" || state === "dropped") return number(rows);
  const [year, ofYear] = month.split("-").map(Number);
  const from = Date.UTC(year ?? 0, (ofYear ?? 1) - 1);
  const to = Date.UTC(year ?? 0, ofYear ?? 1);
  const period = { from: minuteOf(from), to: minuteOf(to) };
  return el("a", { href: `${BASE}/calls?${new URLSearchParams(period)}` }, number(rows));
}

function callLink(id: string): HTMLElement {
  return el("a", { href: `${BASE}/calls/${encodeURIComponent(id)}` }, id);
}

function openRetry(id: string, done: () => Promise<void>): void {
  openChange({
    title: t("servers.retry"),
    about: el("p", {}, t("servers.retry.about")),
    fields: [],
    path: `/quarantine/${encodeURIComponent(id)}/retry`,
    command: "quarantine retry",
    of: { call: id },
    done,
  });
}
