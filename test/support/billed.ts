import assert from "node:assert/strict";
import {
  type AdminTarget,
  type Customer,
  committedWallet,
  createCustomer,
  usage,
} from "./admin.ts";
import { until } from "./until.ts";

/** The starting balance of customers in these tests, in đ. */
export const CREDIT_VND = 100_000;

/** A customer with 100,000 đ, or `creditVnd`. */
export function customerWith(gateway: AdminTarget, creditVnd: string | number = CREDIT_VND) {
  return createCustomer(gateway, { creditVnd });
}

/** Waits until a customer's calls are committed and exactly `count` are recorded; newest first. */
export async function billedCalls(
  gateway: AdminTarget,
  { accountId }: Pick<Customer, "accountId">,
  count: number,
): Promise<Record<string, unknown>[]> {
  await committedWallet(gateway, accountId);
  let records = await usage(gateway, accountId);
  // A call that costs nothing is never uncommitted in a wallet, so its record may arrive later.
  await until(`${count} calls are recorded`, async () => {
    records = await usage(gateway, accountId);
    return records.length >= count;
  });
  assert.equal(records.length, count, JSON.stringify(records));
  return records;
}

/** The usage record of a customer's only call. */
export async function billedCall(
  gateway: AdminTarget,
  customer: Customer,
): Promise<Record<string, unknown>> {
  const [record] = await billedCalls(gateway, customer, 1);
  assert.ok(record);
  return record;
}

/** Fails unless the wallet has exactly this balance in đ, with nothing held or uncommitted. */
export async function assertBalance(
  gateway: AdminTarget,
  { accountId }: Customer,
  vnd: string,
): Promise<void> {
  assert.deepEqual(await committedWallet(gateway, accountId), {
    balance: vnd,
    held: "0",
    available: vnd,
    pending: "0",
  });
}

/** Fails unless the customer still has the initial 100,000 đ. */
export async function assertNotCharged(gateway: AdminTarget, customer: Customer): Promise<void> {
  await assertBalance(gateway, customer, String(CREDIT_VND));
  for (const record of await usage(gateway, customer.accountId)) {
    assert.equal(record["cost_vnd"], "0");
  }
}
