import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, notice } from "../../../page-parts/browser/form.ts";
import { dateTime, exactVnd, number, seconds } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { callColumns, statusBadge } from "../call-columns.ts";
import { openChange, reasonField } from "../change.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Call, CallStory, OpenCall } from "../contract.ts";
import { customerLink } from "../customer-link.ts";
import { list } from "../list.ts";
import { get, may } from "../session.ts";
import { t } from "../text.ts";

const STATUSES = [200, 400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504] as const;

interface CallPage {
  readonly calls: readonly Call[];
  readonly next: string | null;
}

/** The calls of all customers, newest first; or one call's story. */
export async function render({ root, rest, signal }: PageContext): Promise<void> {
  if (rest !== "") return story(root, rest, signal);
  const { element } = list<Call>({
    title: t("nav.calls"),
    signal,
    filters: [
      { name: "account", label: t("calls.account") },
      { name: "model", label: t("model") },
      {
        name: "status",
        label: t("status"),
        options: [
          ["", t("all")],
          ["failed", t("calls.failed")],
          ...STATUSES.map((status) => [String(status), String(status)] as const),
        ],
      },
      { name: "upstream", label: t("calls.upstream") },
      {
        name: "cost",
        label: t("report.cost"),
        options: [
          ["", t("all")],
          ["unknown", t("unknown")],
          ["below", t("report.below.short")],
        ],
      },
      { name: "key", label: t("calls.key") },
      { name: "from", label: t("from"), type: "date" },
      { name: "to", label: t("to"), type: "date" },
    ],
    columns: callColumns(),
    async load(filters, limit, next) {
      const page = await get<CallPage>("/calls", { ...filters, limit, ...next });
      const isCut = page.next !== null && page.calls.length < limit;
      return {
        rows: page.calls,
        next: page.next === null ? undefined : { before: page.next },
        ...(isCut && {
          note: notice(
            "info",
            t("calls.searched", { at: dateTime(page.next?.split(",")[0] ?? "") }),
          ),
        }),
      };
    },
    command: (filters) => commandText("call list", filters),
    file: "calls",
    none: t("calls.none"),
  });
  fill(root, pageHead(t("nav.calls"), t("calls.lead")), element);
}

async function story(root: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const place = el("div", { class: "grid" });
  const refund = el("button", { type: "button", disabled: true }, t("call.refund"));
  fill(root, pageHead(t("call.title"), el("code", {}, id), may("refund") && refund), place);
  const load = () =>
    loadInto(place, signal, async (isWanted) => {
      const call = await get<CallStory | OpenCall>(`/calls/${encodeURIComponent(id)}`);
      const command = commandLine(commandText("call show", { call: id }));
      const isStory = "is_equal" in call;
      if (isWanted()) {
        refund.hidden = !isStory;
        refund.disabled = !isStory || call.state !== "recorded" || call.cost_vnd === "0";
      }
      if (!isStory) return [openCall(call), command];
      return [
        !call.is_equal &&
          notice("bad", t("call.unequal", { amount: exactVnd(call.recomputed_vnd) })),
        call.state !== "recorded" &&
          notice("info", t(`call.state.${call.state}`), ` ${call.reason ?? ""}`),
        card(t("call.money"), money(call)),
        card(t("call.path"), path(call)),
        command,
      ];
    });
  refund.addEventListener("click", () => openRefund(id, load));
  await load();
}

function money(call: CallStory): HTMLElement {
  const { provider_cost_vnd: cost, written_off_vnd: writtenOff, calculation, ledger } = call;
  return pairs([
    [t("calls.charged"), exactVnd(call.cost_vnd)],
    [t("call.formula"), calculation.formula],
    [t("call.list"), exactVnd(calculation.list_vnd)],
    [t("call.discount"), exactVnd(calculation.discount_vnd)],
    [t("call.hold"), call.held_vnd === null ? t("unknown") : exactVnd(call.held_vnd)],
    ...(call.purses === null
      ? []
      : [[t("books.purses"), call.purses.map((name) => el("code", {}, name))] as const]),
    ...(ledger === null
      ? [[t("call.entry"), t("call.entry.none")] as const]
      : [
          [
            t("call.entry"),
            t("call.entry.at", { id: ledger.entry, at: dateTime(ledger.at) }),
          ] as const,
          [t("movement.after"), exactVnd(ledger.balance_after_vnd)] as const,
        ]),
    ...(call.refunded_vnd === "0"
      ? []
      : [[t("call.refunded"), exactVnd(call.refunded_vnd)] as const]),
    ...(writtenOff === "0" ? [] : [[t("call.writtenoff"), exactVnd(writtenOff)] as const]),
    [t("report.cost"), cost === null ? t("unknown") : exactVnd(cost)],
    [
      t("report.margin"),
      cost === null ? t("unknown") : exactVnd(String(Number(call.cost_vnd) - Number(cost))),
    ],
  ]);
}

function openCall(call: OpenCall): HTMLElement {
  const { state, key_id, held_vnd, since, at, model, endpoint, status, cause } = call;
  const time = since ?? at;
  return card(
    t(`call.state.${state}`),
    pairs([
      ...(held_vnd ? [[t("call.hold"), exactVnd(held_vnd)] as const] : []),
      ...(cause ? [[t("calls.cause"), el("code", {}, cause)] as const] : []),
      ...(status ? [[t("status"), statusBadge(status, state)] as const] : []),
      ...(time ? [[t("time"), dateTime(time)] as const] : []),
      [t("calls.account"), ownerLink(call)],
      ...(key_id ? [[t("calls.key"), el("code", {}, key_id)] as const] : []),
      ...(endpoint ? [[t("model"), `${model ?? "–"} ${endpoint}`] as const] : []),
    ]),
  );
}

function ownerLink({ account_id, email }: CallStory | OpenCall): HTMLElement {
  return customerLink(account_id, email);
}

function path(call: CallStory): HTMLElement {
  const { key_id, model, mapped_from } = call;
  return pairs([
    [t("time"), dateTime(call.at)],
    [t("calls.account"), ownerLink(call)],
    [t("calls.key"), el("a", { href: `${BASE}/calls?key=${key_id}` }, key_id)],
    [t("model"), mapped_from === null ? model : `${mapped_from} → ${model}`],
    [t("calls.endpoint"), el("code", {}, call.endpoint)],
    [t("calls.upstream"), call.upstream ?? "–"],
    [t("status"), statusBadge(call.status, call.outcome)],
    [t("calls.tokens"), `${number(call.input_tokens)} → ${number(call.output_tokens)}`],
    [
      t("calls.latency"),
      call.first_byte_ms === null
        ? seconds(call.latency_ms)
        : t("call.latency", { all: seconds(call.latency_ms), first: seconds(call.first_byte_ms) }),
    ],
    [t("calls.id"), [el("code", {}, call.call_id), " ", copyButton(t("copy"), () => call.call_id)]],
  ]);
}

function openRefund(id: string, done: () => Promise<void>): void {
  const amount = field(
    t("call.refund.amount"),
    { inputmode: "decimal", maxlength: 30 },
    t("call.refund.hint"),
  );
  const reason = reasonField();
  openChange({
    title: t("call.refund"),
    fields: [amount, reason],
    path: "/refunds",
    command: "refund",
    given: () => ({
      call: id,
      amount_vnd: amount.input.value,
      reason: reason.input.value,
    }),
    movesMoney: true,
    done,
  });
}
