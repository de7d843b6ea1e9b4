import { inspect } from "node:util";
import { isObject } from "../../core/process/json.ts";
import type { TestGateway } from "./gateway.ts";
import "./patient-fetch.ts";
import { until } from "./until.ts";

/** A reply of the admin API. */
export interface AdminAnswer {
  readonly status: number;
  // Untyped, because a missing field fails the assertion that reads it.
  readonly body: Record<string, unknown>;
}

/** A customer with a balance and a key. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly keyId: string;
  readonly key: string;
}

/** The part of a gateway that the admin API needs. The end of its log is shown if a request gets no reply. */
export type AdminTarget = Pick<TestGateway, "url" | "adminToken"> & { readonly logTail?: string };

/**
 * Sends one request to the admin API; `path` is below `/admin/v1`. Returns a list as `{ list }`.
 */
export async function admin(
  gateway: AdminTarget,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<AdminAnswer> {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${gateway.adminToken}`,
      "content-type": "application/json",
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new Error(`${method} ${path}: ${inspect(error)}\n${gateway.logTail}`);
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: isObject(answer) ? answer : { list: answer } };
}

let customers = 0;

const ATTEMPTS = 5;

function newReference(): string {
  return `test-${process.pid}-${++customers}`;
}

class Unavailable extends Error {}

interface NewCustomer {
  readonly creditVnd?: string | number;
  /** Default: a new one. */
  readonly email?: string;
}

/**
 * Creates an account with a key, and credits `creditVnd` if given. Begins again if the gateway says 503, which asks for that,
 * since a busy machine may be too slow for its stores: with another address, but with the same reference of the credit.
 */
export async function createCustomer(
  gateway: AdminTarget,
  { creditVnd, email }: NewCustomer = {},
): Promise<Customer> {
  const attempts = email === undefined ? ATTEMPTS : 1;
  const customer = await patiently(attempts, () => newCustomer(gateway, email));
  const reference = newReference();
  const { accountId } = customer;
  if (creditVnd !== undefined)
    await patiently(ATTEMPTS, () => credit(gateway, accountId, creditVnd, reference));
  return customer;
}

async function patiently<T>(attempts: number, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attempts || !(error instanceof Unavailable)) throw error;
    }
  }
}

async function newCustomer(gateway: AdminTarget, email: string | undefined): Promise<Customer> {
  const address = email ?? `customer-${process.pid}-${++customers}@tollgate.test`;
  const account = await created(gateway, "/accounts", { email: address });
  const accountId = String(account["id"]);
  const key = await created(gateway, `/accounts/${accountId}/keys`, { name: "test" });
  return { accountId, email: address, keyId: String(key["id"]), key: String(key["key"]) };
}

/** Credits a wallet under a new reference; returns the balance in đ. */
export async function credit(
  gateway: AdminTarget,
  accountId: string,
  amountVnd: string | number,
  reference = newReference(),
): Promise<string> {
  const movement = { amount_vnd: amountVnd, reference };
  const answer = await created(gateway, `/accounts/${accountId}/credits`, movement);
  return String(answer["balance_vnd"]);
}

/** The parts of a wallet as decimal strings of đ. */
export interface WalletParts {
  readonly balance: string;
  readonly held: string;
  readonly available: string;
  readonly pending: string;
}

export async function wallet(gateway: AdminTarget, accountId: string): Promise<WalletParts> {
  const { body } = await admin(gateway, "GET", `/accounts/${accountId}/wallet`);
  return {
    balance: String(body["balance_vnd"]),
    held: String(body["held_vnd"]),
    available: String(body["available_vnd"]),
    pending: String(body["pending_vnd"]),
  };
}

/** Returns the wallet once no call is in flight and every call is in the ledger. */
export async function committedWallet(
  gateway: AdminTarget,
  accountId: string,
): Promise<WalletParts> {
  let now = await wallet(gateway, accountId);
  await until(
    () => `calls are committed: ${JSON.stringify(now)}`,
    async () => {
      if (now.held === "0" && now.pending === "0") return true;
      now = await wallet(gateway, accountId);
      return false;
    },
  );
  return now;
}

/** The usage records of an account, newest first. */
export async function usage(
  gateway: AdminTarget,
  accountId: string,
  limit = 1000,
): Promise<Record<string, unknown>[]> {
  const { body } = await admin(gateway, "GET", `/accounts/${accountId}/usage?limit=${limit}`);
  return (Array.isArray(body["list"]) ? body["list"] : []).filter(isObject);
}

/** Sends a request that must succeed; fails with the gateway's error message otherwise. */
async function created(
  gateway: AdminTarget,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const answer = await admin(gateway, "POST", path, body);
  if (answer.status < 300) return answer.body;
  const Kind = answer.status === 503 ? Unavailable : Error;
  throw new Kind(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}
