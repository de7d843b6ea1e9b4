import { isObject } from "../../../../core/contract/index.ts";
import { accountPath, type Command, encoded, given, value } from "../command.ts";
import { EXIT } from "../failure.ts";
import { list } from "../pages.ts";

export const moneyCommands: readonly Command[] = [
  {
    words: "credit",
    required: ["account", "amount-vnd", "reference"],
    optional: ["reason"],
    about:
      "adds money to a wallet, once per reference; a negative amount takes it away and needs a reason",
    run: async (client, { account, "amount-vnd": amount, reference, reason }) => {
      const movement = { amount_vnd: amount, reference, ...given({ reason }) };
      return value(await client.post(`${accountPath(account)}/credits`, movement));
    },
  },
  {
    words: "adjust",
    required: ["account", "amount-vnd", "reference", "reason"],
    optional: [],
    about: "corrects a wallet up or down, once per reference, without its being a top-up",
    run: async (client, { account, "amount-vnd": amount, reference, reason }) => {
      const movement = { amount_vnd: amount, reference, reason };
      return value(await client.post(`${accountPath(account)}/adjustments`, movement));
    },
  },
  {
    words: "wallet",
    required: ["account"],
    optional: [],
    about: "shows a balance and its parts",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/wallet`)),
  },
  {
    words: "usage",
    required: ["account"],
    optional: ["limit"],
    about: "shows the calls of an account, newest first, all of them or as many as --limit",
    run: (client, { account, limit }) =>
      list(client, `${accountPath(account)}/usage`, {}, limit, (last) => ({
        before: `${String(last["at"])},${String(last["call_id"])}`,
      })),
  },
  {
    words: "call show",
    required: ["call"],
    optional: [],
    about:
      "shows a call by its id (x-request-id), what its cost is made of, and the cost computed again; exits 1 if they differ",
    run: async (client, { call }) => {
      const found = await client.get(`/calls/${encoded(call)}`);
      const isWrong = isObject(found) && found["is_equal"] === false;
      return { kind: "value", value: found, exitCode: isWrong ? EXIT.refused : EXIT.ok };
    },
  },
  {
    words: "reconcile",
    required: [],
    optional: [],
    about: "proves that all books agree; exits 1 and shows the rows where they do not",
    run: async (client) => {
      const report = await client.get("/reconcile");
      const isClean = isObject(report) && report["drift"] === false;
      return { kind: "value", value: report, exitCode: isClean ? EXIT.ok : EXIT.refused };
    },
  },
  {
    words: "quarantine list",
    required: [],
    optional: ["limit"],
    about: "shows calls that the ledger has refused to commit, and why; 100, or as many as --limit",
    run: async (client, { limit }) => value(await client.get("/quarantine", given({ limit }))),
  },
  {
    words: "quarantine retry",
    required: ["call"],
    optional: [],
    about: "commits such a call, once the cause is mended",
    run: async (client, { call }) =>
      value(await client.post(`/quarantine/${encoded(call)}/retry`, {})),
  },
];
