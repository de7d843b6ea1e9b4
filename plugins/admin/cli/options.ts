import type { Command, OptionText } from "./command.ts";

const ID = "01a1f8dd-7b02-75fa-97ae-a9020a2b8f2d";

/** Options that mean the same in every command. */
const SHARED: Readonly<Record<string, OptionText>> = {
  account: {
    value: "ID|EMAIL",
    about: "the account, by its id or email address",
    example: "you@example.com",
  },
  key: { value: "ID", about: "the id of a key, from key list --wide", example: ID },
  call: { value: "ID", about: "the id of a call, the x-request-id of its reply", example: ID },
  email: { value: "ADDRESS", example: "you@example.com" },
  name: { value: "NAME", about: "a name for people", example: "laptop" },
  "amount-vnd": { value: "AMOUNT", about: "in đ, without separators", example: "50000" },
  reference: {
    value: "TEXT",
    about: "counts once: a repetition changes nothing",
    example: "cash-2026-001",
  },
  reason: { value: "TEXT", about: "why; the audit trail keeps it", example: '"as agreed"' },
  query: { value: "TEXT", example: "you@example" },
  bps: { value: "N", about: "hundredths of a percent", example: "500" },
  "requests-per-minute": { value: "N|default", example: "60" },
  limit: { value: "N", about: "the number of rows at most", example: "20" },
  "older-than-seconds": { value: "N", about: "report items that are older", example: "900" },
  from: { value: "YYYY-MM-DD", about: "the first day", example: "2026-11-01" },
  to: { value: "YYYY-MM-DD", about: "the last day", example: "2026-11-30" },
  month: { value: "YYYY-MM", example: "2026-05" },
  "as-much-as-there-is": { about: "if the wallet has less, take that" },
  yes: { about: "do not ask first, as money commands do above 5,000,000 đ" },
};

/** Returns the text of an option: its own, completed by the one that commands share if the placeholder is the same. */
export function optionText({ options = {} }: Command, name: string): OptionText {
  const own = options[name] ?? {};
  const shared = SHARED[name] ?? {};
  if ((own.value ?? shared.value) !== shared.value) return own;
  const { value } = shared;
  return { value, about: own.about ?? shared.about, example: own.example ?? shared.example };
}
