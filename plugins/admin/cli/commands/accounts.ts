import { accountPath, type Command, given, numeric, value } from "../command.ts";
import { list } from "../pages.ts";

/** A key that is pasted whole is a secret: only what it is recognised by is sent. */
const SHOWN_OF_KEY = 10;

export const accountCommands: readonly Command[] = [
  {
    words: "account create",
    required: ["email"],
    optional: [],
    about: "makes an account",
    run: async (client, { email }) => value(await client.post("/accounts", { email })),
  },
  {
    words: "account list",
    required: [],
    optional: ["limit"],
    about: "shows the accounts, oldest first, all of them or as many as --limit",
    run: (client, { limit }) => list(client, "/accounts", {}, limit, after),
  },
  {
    words: "account find",
    required: ["query"],
    optional: ["limit"],
    about: "shows the accounts with this in their e-mail address, or with this id, key or key id",
    run: (client, { query = "", limit }) => {
      const shown = query.startsWith("tg-") ? query.slice(0, SHOWN_OF_KEY) : query;
      return list(client, "/accounts", { query: shown }, limit, after);
    },
  },
  {
    words: "account show",
    required: ["account"],
    optional: [],
    about: "shows an account with its wallet, its keys and its last calls",
    run: async (client, { account }) => value(await client.get(accountPath(account))),
  },
  {
    words: "account suspend",
    required: ["account", "reason"],
    optional: [],
    about: "refuses all calls of an account from now on",
    run: async (client, { account, reason }) =>
      value(await client.post(`${accountPath(account)}/suspend`, { reason })),
  },
  {
    words: "account resume",
    required: ["account", "reason"],
    optional: [],
    about: "takes calls of a suspended account again",
    run: async (client, { account, reason }) =>
      value(await client.post(`${accountPath(account)}/resume`, { reason })),
  },
  {
    words: "account discount",
    required: ["account", "bps"],
    optional: ["reason"],
    about: "sets what an account pays less, in hundredths of a per cent",
    run: async (client, { account, bps, reason }) => {
      const discount = { discount_bps: numeric(bps), ...given({ reason }) };
      return value(await client.post(`${accountPath(account)}/discount`, discount));
    },
  },
];

function after(last: Readonly<Record<string, unknown>>): Record<string, string> {
  return { after: String(last["id"]) };
}
