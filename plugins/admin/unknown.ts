import { type Refusal, refuse } from "../../core/plugin/index.ts";

/** Maximum length of an id in a message. Longer ids are cut. */
const ID_SHOWN_MAX = 64;

export function unknownAccount(id: string): Refusal {
  const shown = id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id;
  return refuse.notFound(
    `There is no account ${shown}. \`account list\` lists all accounts.`,
    "account",
  );
}

export function unknownKey(): Refusal {
  return refuse.notFound(
    "There is no such key. `key list` lists the key ids of an account.",
    "key",
  );
}
