import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { NewTransfer, Transfer } from "./transfers.ts";

/**
 * `known`: a recorded transfer is this one. `other_facts`: one has its id, with another amount, account or direction.
 * `unclear`: `alike` may be this one, or if it is null, the report itself has it twice.
 */
type Verdict =
  | { readonly kind: "known"; readonly transfer: Transfer }
  | { readonly kind: "unclear"; readonly alike: string | null }
  | { readonly kind: "other_facts" | "new" };

/** A recorded transfer, with the possible order codes in its text. */
interface Known extends Transfer {
  readonly codes: readonly string[];
}

/** Banks book a transfer of a night before holidays on the first working day: ten days later at Tết, if two weekends are beside it. */
export const APART_DAYS_MAX = 12;
const REFERENCE_CHARACTERS_MIN = 4;
/** No bank uses a long reference again within some days: a teller and his number of the day come again. The longest ones are unique. */
const LONG_REFERENCE_CHARACTERS = 8;
const LONG_REFERENCE_DAYS = 3;
const UNIQUE_REFERENCE_CHARACTERS = 12;
/** A statement and SePay may disagree about the day of a transfer around midnight. */
const TEXT_DAYS_MAX = 1;
const TEXT_CHARACTERS_MIN = 12;
/** The clocks of bank and gateway differ by less. */
const CLOCK_DIFFERENCE_MS = 600_000;
const DAY_MS = 86_400_000;

/**
 * Finds out which reported transfers are recorded already. SePay's id is a transfer's identity. A statement has no such
 * ids: for its rows it is the amount with the bank's reference, or if two sources name references differently, with the
 * order's code or the text, and the day. Each recorded transfer can be one row of a report, so the second of two equal
 * payments is not taken for the first. Asking a person is better than crediting twice and than losing money: what only
 * resembles a recorded transfer is `unclear`.
 *
 * `reported` are of one source. `recorded` are those that may be the same, by id, amount and day.
 */
export async function identify(
  reported: readonly NewTransfer[],
  recorded: readonly Known[],
): Promise<readonly Verdict[]> {
  const reports = reported.map((of) => ({ of, ...textsOf(of) }));
  const all = recorded.map((of) => ({ of, ...textsOf(of) }));
  const verdicts: Verdict[] = [];
  const taken = new Set<One<Known>>();
  const take = (at: number, known: One<Known>) => {
    taken.add(known);
    verdicts[at] = { kind: "known", transfer: known.of };
  };
  const each = async (decide: (report: One<NewTransfer>, at: number) => void) => {
    for (const [at, report] of reports.entries()) {
      if (verdicts[at]) continue;
      decide(report, at);
      // Calls go on while a long statement is compared.
      await setImmediate();
    }
  };

  const byId = new Map(
    all.flatMap((one) => [[one.of.id, one] as const, [one.of.sepayId, one] as const]),
  );
  await each((report, at) => {
    const { of } = report;
    const named = byId.get(of.id);
    const hasItsFacts = named !== undefined && hasFacts(of, named.of);
    const known = hasItsFacts ? named : byId.get(idWithFacts(of));
    if (known) take(at, known);
    else if (named) verdicts[at] = { kind: "other_facts" };
    else if (of.hindrance !== undefined) verdicts[at] = { kind: "new" };
  });

  const near = nearBy(all);
  const possible = (report: One<NewTransfer>, days: number) =>
    near(report, days).filter((known) => !taken.has(known) && isPossible(report, known));
  await each((report, at) => {
    const same = possible(report, APART_DAYS_MAX).find((known) => hasSameReference(report, known));
    if (same) take(at, same);
  });

  const maybe = (report: One<NewTransfer>, days: number) =>
    possible(report, days).filter((known) => !isAnother(report, known));
  // Before any is a question: the payment of a week before may be that of another row.
  await each((report, at) => {
    // SePay may report a second payment for an order that a statement had before, so of its reports the text does not decide.
    if (report.of.source !== "import") return;
    const same = maybe(report, TEXT_DAYS_MAX).find((known) => hasSameText(report, known));
    if (same) take(at, same);
  });

  const firstOf = new Map<string, number>();
  for (const [at, report] of reports.entries()) {
    const row = rowOf(report);
    if (!firstOf.has(row)) firstOf.set(row, at);
  }
  await each((report, at) => {
    const isImport = report.of.source === "import";
    const isTwice = isImport && firstOf.get(rowOf(report)) !== at;
    const alike =
      maybe(report, TEXT_DAYS_MAX)[0] ??
      maybe(report, APART_DAYS_MAX).find((known) => resembles(report, known));
    if (alike) verdicts[at] = { kind: "unclear", alike: alike.of.id };
    else verdicts[at] = isTwice ? { kind: "unclear", alike: null } : { kind: "new" };
  });
  return verdicts;
}

type Facts = Pick<Transfer, "incoming" | "amountMicroVnd" | "accountNumber">;

/**
 * Returns the id for a transfer whose id is that of another one with other facts. It waits for an operator: money has
 * arrived, and the operator has to find out which of the two is right.
 */
export function idWithFacts(report: Facts & Pick<Transfer, "id">): string {
  return `${report.id}.${hash("sha256", factsOf(report), "hex").slice(0, 12)}`;
}

/** A list and a statement may write the account in another way than a notification. */
function hasFacts(report: NewTransfer, known: Known): boolean {
  if (report.source === "webhook" && known.source === "webhook")
    return factsOf(report) === factsOf(known);
  return report.incoming === known.incoming && report.amountMicroVnd === known.amountMicroVnd;
}

/** The facts in which a report that is sent again equals the first. */
function factsOf({ incoming, amountMicroVnd, accountNumber }: Facts): string {
  return `${incoming} ${amountMicroVnd} ${plain(accountNumber)}`;
}

/** A report or a recorded transfer, with its texts as they are compared. */
interface One<T extends NewTransfer | Known> {
  readonly of: T;
  /** Empty if an order's code is in its place: that comes with each payment of the order. */
  readonly reference: string;
  /** References of one shape are written in the same way. */
  readonly shape: string;
  readonly content: string;
  readonly accountNumber: string;
  readonly day: number | null;
}

function textsOf({ bankReference, bankDay, content, accountNumber, codes }: NewTransfer | Known) {
  const named = plain(bankReference);
  const reference = codes.some((code) => named.includes(code)) ? "" : named;
  return {
    ...{ reference, shape: reference.replace(/\d/g, "0") },
    ...{ content: plain(content), accountNumber: plain(accountNumber) },
    day: bankDay === null ? null : Date.parse(bankDay) / DAY_MS,
  };
}

/** Returns a function that finds the incoming transfers of the same amount, at most some days before or after. */
function nearBy(all: readonly One<Known>[]) {
  const keyOf = (amount: bigint | null, day: number | null) => `${amount} ${day}`;
  const byDay = new Map<string, One<Known>[]>();
  for (const known of all) {
    const { amountMicroVnd, incoming } = known.of;
    if (!incoming) continue;
    const places = [keyOf(amountMicroVnd, known.day), String(amountMicroVnd)];
    for (const place of places) {
      const there = byDay.get(place);
      if (there) there.push(known);
      else byDay.set(place, [known]);
    }
  }
  return ({ of, day }: One<NewTransfer>, days: number): One<Known>[] => {
    if (day === null) return byDay.get(String(of.amountMicroVnd)) ?? [];
    const around = Array.from({ length: 2 * days + 1 }, (_, n) => day - days + n);
    const found = [...around, null].map((one) => byDay.get(keyOf(of.amountMicroVnd, one)) ?? []);
    // Ten times as fast as `flat`: thousands of rows may have one amount.
    return ([] as One<Known>[]).concat(...found);
  };
}

/** SePay gives each transfer one id: two ids are two transfers. So are those to two accounts. */
function isPossible(report: One<NewTransfer>, known: One<Known>): boolean {
  const isOther = report.accountNumber !== known.accountNumber;
  if (known.of.cause === "wrong_account" && isOther) return false;
  return report.of.source === "import" || known.of.sepayId === null;
}

function hasSameReference(report: One<NewTransfer>, known: One<Known>): boolean {
  if (hasOtherCodes(report, known)) return false;
  const isNear =
    report.day !== null &&
    known.day !== null &&
    Math.abs(report.day - known.day) <= LONG_REFERENCE_DAYS;
  const charactersMin = isNear ? LONG_REFERENCE_CHARACTERS : UNIQUE_REFERENCE_CHARACTERS;
  if (report.reference === known.reference) {
    const isOfDay = report.day === known.day;
    return report.reference.length >= (isOfDay ? REFERENCE_CHARACTERS_MIN : charactersMin);
  }
  const isIn = ({ reference }: One<NewTransfer | Known>, { content }: One<NewTransfer | Known>) =>
    reference.length >= charactersMin && content.includes(reference);
  return isIn(report, known) || isIn(known, report);
}

/** Returns true if the texts name different orders, or the other one was recorded before this one happened. */
function isAnother(one: One<NewTransfer>, other: One<Known>): boolean {
  const [report, known] = [one.of, other.of];
  // The time in a statement may be that of a booking.
  if (report.source !== "import" && report.at !== undefined) {
    if (report.at.getTime() > known.receivedAt.getTime() + CLOCK_DIFFERENCE_MS) return true;
  }
  return hasOtherCodes(one, other);
}

function hasOtherCodes({ of: report }: One<NewTransfer>, { of: known }: One<Known>): boolean {
  const haveCodes = report.codes.length > 0 && known.codes.length > 0;
  return haveCodes && !report.codes.some((code) => known.codes.includes(code));
}

/** Returns true if the texts or the references are the same, however short these are. */
function resembles(report: One<NewTransfer>, known: One<Known>): boolean {
  const { reference } = report;
  const hasReference =
    reference.length >= REFERENCE_CHARACTERS_MIN && reference === known.reference;
  return hasReference || hasSameText(report, known);
}

/** Returns true if the texts are the same and the references do not contradict. */
function hasSameText(report: One<NewTransfer>, known: One<Known>): boolean {
  // Written in the same way, so they name two transfers if they differ.
  const areComparable = report.shape === known.shape;
  if (areComparable && report.reference.length >= REFERENCE_CHARACTERS_MIN) return false;
  const { codes } = known.of;
  if (report.of.codes.length > 0) return report.of.codes.some((code) => codes.includes(code));
  const isLong = Math.min(report.content.length, known.content.length) >= TEXT_CHARACTERS_MIN;
  const isInside = [report.content.includes(known.content), known.content.includes(report.content)];
  return isLong && codes.length === 0 && isInside.includes(true);
}

function rowOf({ of, reference, content }: One<NewTransfer>): string {
  return `${of.amountMicroVnd} ${of.bankDay} ${of.at?.getTime()} ${reference} ${content}`;
}

/** Returns the letters without accents, and the digits. */
function plain(text: string | null): string {
  return (text ?? "")
    .normalize("NFKD")
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "");
}
