import { get, post } from "../api.ts";
import type { Key, NewKey } from "../contract.ts";

/** The key that this page makes for itself, where the customer has none that can be shown again. */
const OWN_NAME = "Dashboard chat";

/** The keys that the chat can call with: active ones whose text the gateway still has. */
export async function usableKeys(): Promise<Key[]> {
  const { data } = await get<{ data: Key[] }>("/keys");
  const usable = data.filter((key) => key.status === "active" && key.recoverable);
  return usable.sort((a, b) => Number(b.name === OWN_NAME) - Number(a.name === OWN_NAME));
}

export async function makeOwnKey(): Promise<NewKey> {
  return post<NewKey>("/keys", { name: OWN_NAME });
}

const texts = new Map<string, string>();

/** The text of a key; kept in the memory of this page, and nowhere else. */
export async function keyText(id: string): Promise<string> {
  const known = texts.get(id);
  if (known !== undefined) return known;
  const { key } = await post<{ key: string }>(`/keys/${id}/reveal`);
  texts.set(id, key);
  return key;
}
