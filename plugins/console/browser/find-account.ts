import type { Account } from "./contract.ts";
import { get } from "./session.ts";

/** Returns the id of an account that is named by its id or its whole address; undefined if none has this address. */
export async function findAccount(named: string): Promise<string | undefined> {
  if (!named.includes("@")) return named;
  const found = await get<Account[]>("/accounts", { query: named, limit: 2 });
  return found.find(({ email }) => email === named.toLowerCase())?.id;
}
