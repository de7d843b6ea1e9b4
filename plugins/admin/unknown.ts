import { type Refusal, refuse } from "../../core/contract/index.ts";

/** What a caller sent, short enough for a message. */
const ID_SHOWN_MAX = 64;

export function unknownAccount(id: string): Refusal {
  const shown = id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id;
  return refuse.notFound(
    `There is no account ${shown}: \`account list\` shows them all.`,
    "account",
  );
}

export function unknownKey(): Refusal {
  return refuse.notFound(
    "There is no such key: `key list` shows the ids of an account's keys.",
    "key",
  );
}
