import { badge } from "../../../page-parts/browser/badge.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { dateTime, exactVnd } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { BASE } from "../base.ts";
import { openChange, reasonField } from "../change.ts";
import { commandText } from "../command-line.ts";
import { limited, list } from "../list.ts";
import { smallButton } from "../section.ts";
import { get, may } from "../session.ts";
import { t } from "../text.ts";

const STATES = ["pending", "approved", "done", "failed", "refused", "expired"] as const;

interface Approval {
  readonly id: string;
  readonly state: (typeof STATES)[number];
  readonly action: string;
  readonly path: string;
  /** Null: of vouchers. */
  readonly account_id: string | null;
  readonly email: string | null;
  readonly amount_vnd: string;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly proposed_by: string;
  readonly proposed_at: string;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly note: string | null;
  readonly is_own: boolean;
}

type Done = () => Promise<void>;

/** Movements of money that need a second person. */
export function render({ root, signal }: PageContext): void {
  const reload: Done = () => shown.reload();
  const shown = list<Approval>({
    title: t("nav.approvals"),
    signal,
    filters: [
      {
        name: "state",
        label: t("customers.state"),
        options: [
          ["", t("all")],
          ...STATES.map((state) => [state, t(`approval.${state}`)] as const),
        ],
        standard: "pending",
      },
    ],
    columns: [
      { title: t("approval.asked"), cell: ({ proposed_at }) => dateTime(proposed_at) },
      { title: t("approval.by"), cell: ({ proposed_by }) => proposed_by },
      {
        title: t("amount"),
        isNumber: true,
        cell: ({ amount_vnd }) => el("strong", {}, exactVnd(amount_vnd)),
      },
      {
        title: t("money.owner"),
        cell: ({ account_id, email, path }) => {
          const [batch] = /vouchers\/[^/]+/.exec(path) ?? [];
          const page = batch === undefined ? `customers/${account_id}` : `money/${batch}`;
          return el("a", { href: `${BASE}/${page}` }, email ?? t("show"));
        },
      },
      {
        title: t("audit.what"),
        cell: kind,
      },
      { title: t("reason"), cell: ({ reason }) => reason ?? "" },
      { title: t("customers.state"), cell: state },
      { title: t("actions"), cell: (approval) => buttons(approval, reload) },
    ],
    async load(filters, limit, next) {
      const rows = await get<Approval[]>("/approvals", { ...filters, limit, ...next });
      return limited(rows, limit, ({ id }) => id);
    },
    command: (filters) => commandText("approval list", filters),
    file: "approvals",
    none: t("approval.none"),
  });
  fill(root, pageHead(t("nav.approvals"), t("approval.lead")), shown.element);
}

function kind({ action, reference }: Approval) {
  return [
    textIfAny(`approval.of.${action}`) ?? action,
    reference !== null && [" ", el("small", { class: "hint" }, reference)],
  ];
}

function state({ state, decided_by, note }: Approval) {
  const kind =
    state === "done" ? "good" : state === "pending" || state === "approved" ? "info" : "bad";
  return [
    badge(kind, t(`approval.${state}`)),
    decided_by !== null && ` ${decided_by}`,
    note !== null && [" ", el("small", { class: "hint" }, note)],
  ];
}

function buttons(approval: Approval, done: Done) {
  const { amount_vnd, email, is_own } = approval;
  // Only those who can still ask for a movement withdraw theirs.
  const mayEnd = may("money") || (is_own && may("refund"));
  if (approval.state !== "pending" || !mayEnd) return false;
  const name = `${exactVnd(amount_vnd)}, ${email ?? ""}`;
  const button = (text: string, open: () => void) => smallButton(text, name, open);
  return el(
    "span",
    { class: "row" },
    !is_own && button(t("approval.approve"), () => openApprove(approval, done)),
    button(t(refusalOf(approval)), () => openRefuse(approval, done)),
  );
}

/** The one who asked withdraws it, with the same command. */
function refusalOf({ is_own }: Approval) {
  return is_own ? "approval.withdraw" : "approval.refuse";
}

function about(approval: Approval) {
  const { amount_vnd, email, proposed_by, reason } = approval;
  const amount = el("strong", {}, exactVnd(amount_vnd));
  return [
    el("p", {}, kind(approval), " · ", amount, email !== null && ` · ${email}`),
    el("p", { class: "hint" }, proposed_by + (reason ? `: ${reason}` : "")),
  ];
}

function openApprove(approval: Approval, done: Done): void {
  openChange({
    title: t("approval.approve"),
    about: about(approval),
    fields: [],
    path: `/approvals/${approval.id}/approve`,
    command: "approval approve",
    of: { approval: approval.id },
    done,
  });
}

function openRefuse(approval: Approval, done: Done): void {
  const reason = reasonField();
  openChange({
    title: t(refusalOf(approval)),
    about: about(approval),
    fields: [reason],
    path: `/approvals/${approval.id}/refuse`,
    command: "approval refuse",
    of: { approval: approval.id },
    given: () => ({ reason: reason.input.value }),
    isDangerous: true,
    done,
  });
}
