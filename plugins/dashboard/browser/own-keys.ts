import { hasEnded } from "../../page-parts/browser/key-limits.ts";
import { get, post } from "./api.ts";
import type { Key, KeyList, NewKey } from "./contract.ts";
import { proved } from "./proof.ts";
import { currentTeam } from "./team.ts";

/** Name of the key that the chat creates if the customer has no key that it can show again. */
const OWN_NAME = "Dashboard chat";

/**
 * Returns the active keys that are neither paused nor ended, and that the gateway can still show: the chat's own first, and
 * those for certain addresses last.
 */
export async function usableKeys(): Promise<Key[]> {
  const { data } = await get<KeyList>("/keys");
  const usable = data.filter(
    ({ status, recoverable, limits, member }) =>
      status === "active" &&
      recoverable &&
      !limits.paused &&
      !hasEnded(limits) &&
      // An owner does not spend what is for a member.
      (member === null) === (currentTeam() === undefined),
  );
  const rank = ({ name, limits }: Key) => (limits.addresses ? 2 : name === OWN_NAME ? 0 : 1);
  return usable.sort((a, b) => rank(a) - rank(b));
}

export async function makeOwnKey(): Promise<NewKey> {
  return proved(() => post<NewKey>("/keys", { name: OWN_NAME }));
}

const texts = new Map<string, string>();

/** Returns the text of a key that this page has shown; undefined if it has not. */
export function knownText(id: string): string | undefined {
  return texts.get(id);
}

/** Returns the text of a key. Caches it in memory only. */
export async function keyText(id: string): Promise<string> {
  const known = knownText(id);
  if (known !== undefined) return known;
  const { key } = await proved(() => post<{ key: string }>(`/keys/${id}/reveal`));
  texts.set(id, key);
  return key;
}
