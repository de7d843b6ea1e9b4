import {
  confirmation,
  done,
  formatVnd,
  isRefusal,
  mapping,
  type OperatorRoute,
  readBody,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import type { Crediting } from "./crediting.ts";
import type { Settings } from "./options.ts";
import { closedOwners, ordersByCode } from "./orders.ts";
import { type Recorded, type Recording, TooManyAlike } from "./recording.ts";
import { readStatement, type StatementRow } from "./statement.ts";
import { type NewTransfer, transferOf, transfersOfDays } from "./transfers.ts";

/** A month of a busy account, with 300 bytes a row. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;
/** More than such a statement has rows. */
const MISSING_MAX = 20_000;

const statement = mapping({
  file: v.string("the text of a CSV file"),
  dry_run: v.optional(v.boolean("true or false"), false),
});

/** Route that records the transfers of a statement which SePay did not notify. A repetition changes nothing. */
export function importRoute(
  services: Services,
  settings: Settings,
  recording: Recording,
  crediting: Crediting,
): OperatorRoute {
  const { clock, database } = services;
  return {
    method: "POST",
    path: "/transfers/import",
    right: "money",
    // A comparison moves nothing.
    needsProof({ body }) {
      const wanted = readBody(statement, body);
      return isRefusal(wanted) || !wanted.dry_run;
    },
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request, operator) =>
      imported(request, operator).catch((error: unknown) => {
        if (error instanceof TooManyAlike) return refuse.badRequest(error.message, "file");
        throw error;
      }),
  };

  async function imported(
    ...[request, operator]: Parameters<OperatorRoute["handle"]>
  ): ReturnType<OperatorRoute["handle"]> {
    const wanted = readBody(statement, request.body);
    if (isRefusal(wanted)) return wanted;
    const read = readStatement(wanted.file, settings, new Date(clock.now()));
    if (typeof read === "string") return refuse.badRequest(read, "file");
    const reports = read.rows.map(({ report }) => report);
    // A row of a file is as good as the word of its operator: it needs a second person if `assign` would.
    const largest = wanted.dry_run ? undefined : await largestCredit(reports);
    if (largest) {
      const movement = { operator, request, ...largest };
      const asked = await confirmation.needed(services, movement, undefined);
      if (asked) return asked;
    }
    const shown = wanted.dry_run ? await foreseen(reports) : await recorded(reports);
    const countOf = (outcome: string) => shown.filter((one) => one.outcome === outcome).length;
    return done({
      dry_run: wanted.dry_run,
      known: countOf("known"),
      new: countOf("new"),
      unclear: countOf("unclear"),
      outgoing: read.outgoing,
      other_accounts: read.otherAccounts,
      skipped_lines: read.skippedLines,
      transfers: read.rows.map((row, at) => ({ ...rowJson(row), ...shown[at] })),
      missing: await missing(reports, shown),
    });
  }

  /** Returns the transfers of the statement's days that it does not have: the bank may never have booked them. */
  async function missing(
    reports: readonly NewTransfer[],
    shown: readonly { readonly transfer: string | null }[],
  ) {
    const days = reports.flatMap(({ bankDay }) => bankDay ?? []).sort();
    const [first = "", last = first] = [days[0], days.at(-1)];
    if (first === "") return [];
    const known = new Set(shown.map(({ transfer }) => transfer));
    const all = await transfersOfDays(database, first, last, MISSING_MAX);
    return all
      .filter(({ id, state }) => state !== "ignored" && !known.has(id))
      .map(({ id, state, accountId, amountMicroVnd, bankDay, content }) => ({
        transfer: id,
        state,
        account: accountId,
        day: bankDay,
        amount_vnd: formatVnd(amountMicroVnd ?? 0n),
        content,
      }));
  }

  async function recorded(reports: readonly NewTransfer[]) {
    const found = await recording.record(reports);
    const shown: ReturnType<typeof recordedJson>[] = [];
    for (const one of found) {
      const { transfer, isNew } = one;
      if (isNew) await crediting.creditSoon(transfer);
      const now = isNew ? await transferOf(database, transfer.id) : undefined;
      shown.push(recordedJson({ transfer: now ?? transfer, isNew }));
    }
    return shown;
  }

  async function foreseen(reports: readonly NewTransfer[]) {
    const owners = await ownersOf(reports);
    return (await recording.compare(reports)).map((verdict, at) => {
      if (verdict.kind === "known") return recordedJson({ ...verdict, isNew: false });
      const alike = verdict.kind === "unclear" ? verdict.alike : null;
      if (verdict.kind !== "new") return shownJson("unclear", null, "unmatched", null, alike);
      const owner = owners[at];
      return shownJson("new", null, owner ? "matched" : "unmatched", owner ?? null, null);
    });
  }

  /** Returns the largest movement that recording these would make; undefined if they credit no order. */
  async function largestCredit(reports: readonly NewTransfer[]) {
    const owners = await ownersOf(reports);
    const credits = (await recording.compare(reports)).flatMap((verdict, at) => {
      const [accountId, amountMicroVnd] = [owners[at], reports[at]?.amountMicroVnd];
      return verdict.kind === "new" && accountId && amountMicroVnd
        ? [{ accountId, amountMicroVnd }]
        : [];
    });
    return credits.reduce<(typeof credits)[number] | undefined>(
      (most, one) => (most && most.amountMicroVnd >= one.amountMicroVnd ? most : one),
      undefined,
    );
  }

  /** Returns the account of each, if its text names one order of an account that is not closed. */
  async function ownersOf(reports: readonly NewTransfer[]): Promise<(string | undefined)[]> {
    const codes = reports.flatMap((report) => report.codes);
    const orders = await ordersByCode(database, [...new Set(codes)]);
    const byCode = new Map(orders.map((order) => [order.code, order]));
    const closed = await closedOwners(database, orders);
    return reports.map((report) => {
      const [order, ...others] = report.codes.flatMap((code) => byCode.get(code) ?? []);
      const isOne = order !== undefined && others.length === 0 && !closed.has(order.accountId);
      return isOne ? order.accountId : undefined;
    });
  }
}

function recordedJson({ transfer, isNew }: Recorded) {
  const { cause, id, state, accountId, alike } = transfer;
  const isUnclear = isNew && (cause === "alike" || cause === "known_id");
  const outcome = isUnclear ? "unclear" : isNew ? "new" : "known";
  return shownJson(outcome, id, state, accountId, alike);
}

function shownJson(
  outcome: "known" | "new" | "unclear",
  transfer: string | null,
  state: string,
  account: string | null,
  alike: string | null,
) {
  return { outcome, transfer, state, account, alike };
}

function rowJson({ line, report }: StatementRow) {
  const { bankDay, amountMicroVnd, bankReference, content } = report;
  return {
    line,
    day: bankDay,
    amount_vnd: formatVnd(amountMicroVnd ?? 0n),
    reference: bankReference,
    content,
  };
}
