import type { Services } from "../../core/plugin/index.ts";
import { codesIn, codesNear } from "./code.ts";
import { type Order, ordersByCode, unpaidOrders } from "./orders.ts";
import { creditedTexts, type Transfer } from "./transfers.ts";

/** Who may have sent a transfer, with the reasons why. */
interface Suggestion {
  readonly accountId: string;
  /** The order that the money may be for; undefined if only the payer is known. */
  readonly order: Order | undefined;
  readonly why: readonly Reason[];
}

/** Its code; one that differs by one letter; an unpaid order of the same amount; a payer whose money went to the account before. */
type Reason = "exact_code" | "code" | "amount" | "payer";

const DAY_MS = 86_400_000;
/** Customers pay an order within days, and some pay for years from one bank account. */
const ORDER_DAYS = 7;
const PAYER_DAYS = 365;
/** A text that this many customers have used is of a bank, not of a payer. */
const PAYERS_MAX = 3;
const SUGGESTIONS_MAX = 10;

/** Words that banks and all customers write. */
const COMMON =
  /^(?:CHUYEN|TIEN|KHOAN|NAP|THANH|TOAN|CK|CT|TU|DEN|CHO|TAI|MBVCB|MB|VCB|IBFT|FT|QR|NGAN|HANG|BANK|TK)$/;

/** Returns who may have sent a transfer that no code has matched: the likeliest first. Changes nothing. */
export async function suggestionsFor(
  database: Services["database"],
  transfer: Transfer,
  prefix: string,
  contentPrefix: string | undefined,
): Promise<Suggestion[]> {
  const { receivedAt, amountMicroVnd, content } = transfer;
  const exact = codesIn([content ?? ""], prefix);
  const since = new Date(receivedAt.getTime() - ORDER_DAYS * DAY_MS);
  const [byCode, byAmount, accounts] = await Promise.all([
    ordersByCode(database, [...exact, ...codesNear(content ?? "", prefix)]),
    amountMicroVnd === null ? [] : unpaidOrders(database, amountMicroVnd, since, receivedAt),
    payersOf(database, transfer, contentPrefix),
  ]);
  const found = new Map<
    string,
    { accountId: string; order: Order | undefined; why: Set<Reason> }
  >();
  const add = (reason: Reason, accountId: string, order?: Order) => {
    const key = order?.id ?? accountId;
    const known = found.get(key) ?? { accountId, order, why: new Set() };
    known.why.add(reason);
    found.set(key, known);
  };
  for (const order of byCode)
    add(exact.includes(order.code) ? "exact_code" : "code", order.accountId, order);
  for (const order of byAmount) add("amount", order.accountId, order);
  for (const accountId of accounts) {
    const orders = [...found.values()].filter((one) => one.order && one.accountId === accountId);
    if (orders.length === 0) add("payer", accountId);
    for (const { why } of orders) why.add("payer");
  }
  const all = [...found.values()].map((one) => ({ ...one, why: [...one.why] }));
  const points = { exact_code: 4, code: 3, amount: 1, payer: 1 };
  const weight = ({ why }: Suggestion) => why.reduce((sum, reason) => sum + points[reason], 0);
  return all.sort((one, other) => weight(other) - weight(one)).slice(0, SUGGESTIONS_MAX);
}

/** Returns the accounts that got transfers with the same name in their text. */
async function payersOf(
  database: Services["database"],
  transfer: Transfer,
  contentPrefix: string | undefined,
): Promise<string[]> {
  const name = payerIn(transfer.content, [transfer.orderCode, contentPrefix]);
  if (name === "") return [];
  const since = new Date(transfer.receivedAt.getTime() - PAYER_DAYS * DAY_MS);
  const earlier = await creditedTexts(database, since);
  const same = earlier.filter(
    ({ content, code }) => payerIn(content, [code, contentPrefix]) === name,
  );
  const accounts = [...new Set(same.map(({ accountId }) => accountId))];
  return accounts.length <= PAYERS_MAX ? accounts : [];
}

/** Returns the words of a transfer's text that may be the payer's name, without `own`; empty if they are fewer than two. */
function payerIn(content: string | null, own: readonly (string | null | undefined)[]): string {
  const words = (content ?? "")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replaceAll(/[đĐ]/g, "D")
    .toUpperCase()
    .split(/[^A-Z0-9]+/);
  const names = words.filter(
    (word) => /^[A-Z]{2,9}$/.test(word) && !own.includes(word) && !COMMON.test(word),
  );
  return names.length < 2 ? "" : names.join(" ");
}
