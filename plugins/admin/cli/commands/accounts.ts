import { accountPath, type Command, given, numeric, value } from "../command.ts";
import { list } from "../pages.ts";

/** A key pasted as the query is a secret: send only its shown prefix. */
const SHOWN_OF_KEY = 10;

const having = {
  value: "balance|budgets",
  about: "only those with money, or with a budget in use",
  example: "balance",
};

export const accountCommands: readonly Command[] = [
  {
    words: "account create",
    required: ["email"],
    optional: [],
    about: "create an account",
    run: async (client, { email }) => value(await client.post("/accounts", { email })),
  },
  {
    words: "account list",
    required: [],
    optional: ["having", "limit"],
    options: { having },
    about: "list accounts, oldest first; all, or up to --limit",
    run: (client, { having, limit }) => list(client, "/accounts", { having }, limit, after),
  },
  {
    words: "account find",
    required: ["query"],
    optional: ["having", "limit"],
    options: { having },
    about: "find accounts by part of the email address, or by account id, key or key id",
    run: (client, { query = "", having, limit }) => {
      const shown = query.startsWith("tg-") ? query.slice(0, SHOWN_OF_KEY) : query;
      return list(client, "/accounts", { query: shown, having }, limit, after);
    },
  },
  {
    words: "account show",
    required: ["account"],
    optional: [],
    about: "show an account with its wallet, keys, last calls and last refused calls",
    run: async (client, { account }) => value(await client.get(accountPath(account))),
  },
  {
    words: "account suspend",
    required: ["account", "reason"],
    optional: [],
    about: "refuse all new calls of an account",
    run: async (client, { account, reason }) =>
      value(await client.post(`${accountPath(account)}/suspend`, { reason })),
  },
  {
    words: "account resume",
    required: ["account", "reason"],
    optional: [],
    about: "accept calls of a suspended account again, and open a closed one",
    run: async (client, { account, reason }) =>
      value(await client.post(`${accountPath(account)}/resume`, { reason })),
  },
  {
    words: "account note",
    required: ["account", "reason"],
    optional: [],
    about: "note something about a customer for operators; `actions --account` lists it",
    run: async (client, { account, reason }) =>
      value(await client.post(`${accountPath(account)}/notes`, { reason })),
  },
  {
    words: "account discount",
    required: ["account", "bps"],
    optional: ["reason"],
    about: "set an account's discount in basis points; 100 = 1 %",
    run: async (client, { account, bps, reason }) => {
      const discount = { discount_bps: numeric(bps), ...given({ reason }) };
      return value(await client.post(`${accountPath(account)}/discount`, discount));
    },
  },
];

function after(last: Readonly<Record<string, unknown>>): Record<string, string> {
  return { after: String(last["id"]) };
}
