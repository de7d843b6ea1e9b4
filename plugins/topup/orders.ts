import type { Services } from "../../core/plugin/index.ts";
import { newCode } from "./code.ts";

type Database = Services["database"];

/** A top-up order. Amounts are in µđ. */
export interface Order {
  readonly id: string;
  readonly accountId: string;
  readonly code: string;
  readonly amountMicroVnd: bigint;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly cancelledAt: Date | null;
  /** The sum credited for the order so far, and the time of the first credit. */
  readonly receivedMicroVnd: bigint;
  readonly paidAt: Date | null;
  /** The sum of the bonuses of these credits. */
  readonly bonusMicroVnd: bigint;
}

type OrderStatus = "open" | "paid" | "underpaid" | "overpaid" | "expired" | "cancelled";

type NewOrder = Pick<Order, "id" | "accountId" | "amountMicroVnd" | "createdAt" | "expiresAt">;

type CreateOrderResult =
  | { readonly kind: "created"; readonly order: Order }
  | { readonly kind: "no_account" | "too_many_open" | "too_many_today" };

/** More orders than a customer makes in a day. Cancelled orders count too, so that no loop fills the table. */
const ORDERS_A_DAY_MAX = 100;
const CODE_ATTEMPTS = 5;

const SELECT = `
  select o.id, o.account_id as "accountId", o.code, o.amount as "amountMicroVnd",
    o.created_at as "createdAt", o.expires_at as "expiresAt", o.cancelled_at as "cancelledAt",
    coalesce(paid.amount, 0)::bigint as "receivedMicroVnd", paid.at as "paidAt",
    coalesce(paid.bonus, 0)::bigint as "bonusMicroVnd"
  from topup_orders o, lateral (
    select sum(t.amount) as amount, min(t.credited_at) as at,
      sum((select sum(b.amount) from topup_bonuses b where b.top_up = t.reference)) as bonus
    from bank_transfers t
    where t.order_id = o.id and t.state = 'credited'
  ) paid`;

/** Returns the status. Money received decides it, even if it came late; otherwise the order is open until it expires. */
export function statusOf(order: Order, nowMs: number): OrderStatus {
  const { amountMicroVnd, receivedMicroVnd } = order;
  if (receivedMicroVnd > 0n) {
    if (receivedMicroVnd === amountMicroVnd) return "paid";
    return receivedMicroVnd < amountMicroVnd ? "underpaid" : "overpaid";
  }
  if (order.cancelledAt !== null) return "cancelled";
  return order.expiresAt.getTime() > nowMs ? "open" : "expired";
}

/** Creates an order. The limit of open orders is exact at any concurrency: see `create_topup_order`. */
export async function createOrder(
  database: Database,
  order: NewOrder,
  prefix: string,
  openOrdersMax: number,
): Promise<CreateOrderResult> {
  for (let attempt = 0; attempt < CODE_ATTEMPTS; attempt++) {
    const code = newCode(prefix);
    const [row] = await database.query<{ outcome: string }>(
      "select create_topup_order($1, $2, $3, $4, $5, $6, $7, $8) as outcome",
      [
        order.id,
        order.accountId,
        code,
        order.amountMicroVnd,
        order.createdAt,
        order.expiresAt,
        openOrdersMax,
        ORDERS_A_DAY_MAX,
      ],
    );
    const outcome = row?.outcome;
    if (outcome === "created") {
      const none = { cancelledAt: null, receivedMicroVnd: 0n, paidAt: null, bonusMicroVnd: 0n };
      return { kind: "created", order: { ...order, code, ...none } };
    }
    if (outcome === "no_account" || outcome === "too_many_open" || outcome === "too_many_today") {
      return { kind: outcome };
    }
  }
  throw new Error(`no free code for an order in ${CODE_ATTEMPTS} attempts`);
}

/** Returns an order of this account; undefined for other accounts' orders. */
export async function orderOf(
  database: Database,
  accountId: string,
  id: string,
): Promise<Order | undefined> {
  const [order] = await database.query<Order>(`${SELECT} where o.id = $1 and o.account_id = $2`, [
    id,
    accountId,
  ]);
  return order;
}

/** Returns the orders of an account, newest first; `before` is the last id of the previous page. */
export function ordersOf(
  database: Database,
  accountId: string,
  limit: number,
  before: string | undefined,
): Promise<Order[]> {
  // Ids sort by time.
  return database.query<Order>(
    `${SELECT} where o.account_id = $1 and ($2::uuid is null or o.id < $2) order by o.id desc limit $3`,
    [accountId, before ?? null, limit],
  );
}

/** Cancels an order, unless it is not open or has a transfer. */
export async function cancelOrder(
  database: Database,
  accountId: string,
  id: string,
  now: Date,
): Promise<void> {
  await database.query(
    `update topup_orders o set cancelled_at = $3
    where id = $1 and account_id = $2 and cancelled_at is null and expires_at > $3
      and not exists (select from bank_transfers t where t.order_id = o.id)`,
    [id, accountId, now],
  );
}

/** Returns the orders with one of these codes. */
export function ordersByCode(database: Database, codes: readonly string[]): Promise<Order[]> {
  return database.query<Order>(`${SELECT} where o.code = any ($1::text::text[])`, [
    `{${codes.join(",")}}`,
  ]);
}

/** Returns the accounts of these orders that are closed. */
export async function closedOwners(
  database: Database,
  orders: readonly Order[],
): Promise<ReadonlySet<string>> {
  const owners = [...new Set(orders.map(({ accountId }) => accountId))];
  const closed = await database.query<{ id: string }>(
    "select closed.id from closed_accounts() closed (id) where closed.id = any ($1::text::uuid[])",
    [`{${owners.join(",")}}`],
  );
  return new Set(closed.map(({ id }) => id));
}

/** Returns the orders of an amount made in a period that no transfer has paid yet, newest first: at most 20. */
export function unpaidOrders(
  database: Database,
  amountMicroVnd: bigint,
  from: Date,
  to: Date,
): Promise<Order[]> {
  return database.query<Order>(
    `${SELECT} where o.amount = $1 and o.created_at between $2 and $3 and o.cancelled_at is null and paid.amount is null
    order by o.created_at desc limit 20`,
    [amountMicroVnd, from, to],
  );
}

/** Returns the account and id of the order with this code. */
export async function orderByCode(database: Database, code: string): Promise<Order | undefined> {
  const [order] = await database.query<Order>(`${SELECT} where o.code = $1`, [code]);
  return order;
}
