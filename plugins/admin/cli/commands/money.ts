import { arrayOf, isObject, objectOf } from "../../../../core/plugin/index.ts";
import type { Client } from "../client.ts";
import { accountPath, type Command, encoded, given, value } from "../command.ts";
import { MONEY_FLAGS, postMoney } from "../confirm.ts";
import { EXIT, Failure } from "../failure.ts";
import { list } from "../pages.ts";

const REASON = { about: "why; the customer sees it" };
/** As many as the route lists at most. */
const RETRIED_AT_ONCE = "1000";

export const moneyCommands: readonly Command[] = [
  {
    words: "credit",
    required: ["account", "amount-vnd", "reference"],
    optional: ["reason"],
    options: { reason: REASON },
    about:
      "add money to a wallet, once per reference; the customer sees the reason, which a negative amount needs",
    flags: MONEY_FLAGS,
    run: async (client, values, ask) => {
      const { account, "amount-vnd": amount, reference, reason } = values;
      const movement = { amount_vnd: amount, reference, ...given({ reason }) };
      return value(
        await postMoney(client, `${accountPath(account)}/credits`, movement, values, ask),
      );
    },
  },
  {
    words: "adjust",
    required: ["account", "amount-vnd", "reference", "reason"],
    optional: [],
    options: {
      "amount-vnd": { about: "in đ; a negative one takes money", example: "-50000" },
      reason: REASON,
    },
    about:
      "correct a wallet up or down, once per reference; the customer sees the reason; does not count as a top-up",
    flags: MONEY_FLAGS,
    run: async (client, values, ask) => {
      const { account, "amount-vnd": amount, reference, reason } = values;
      const movement = { amount_vnd: amount, reference, reason };
      return value(
        await postMoney(client, `${accountPath(account)}/adjustments`, movement, values, ask),
      );
    },
  },
  {
    words: "refund",
    required: ["reason"],
    optional: ["call", "top-up", "amount-vnd"],
    flags: ["as-much-as-there-is", ...MONEY_FLAGS],
    options: {
      "top-up": { value: "REFERENCE", about: "the reference of a top-up, from ledger" },
      "amount-vnd": { about: "so much in all; default all of it" },
      reason: REASON,
    },
    inExample: ["call"],
    about:
      "give back what a call cost, or take back a top-up; all of it, or --amount-vnd of it in all, so that a repetition " +
      "changes nothing; the customer sees the reason",
    run: async (client, values, ask) => {
      const { call, "top-up": topUp, "amount-vnd": amount, reason, ...flags } = values;
      const wanted = {
        ...given({ call, top_up: topUp, amount_vnd: amount, reason }),
        ...(flags["as-much-as-there-is"] !== undefined && { as_much_as_there_is: true }),
      };
      return value(await postMoney(client, "/refunds", wanted, values, ask));
    },
  },
  {
    words: "ledger",
    required: ["account"],
    optional: ["from", "to"],
    about:
      "list an account's movements, and its charges by day (in Vietnam); with the balance after each; all, or --from a " +
      "day --to another, included",
    run: async (client, { account, from, to }) =>
      value(await client.get(`${accountPath(account)}/ledger`, given({ from, to }))),
  },
  {
    words: "wallet",
    required: ["account"],
    optional: [],
    about: "show the balance of an account and its parts",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/wallet`)),
  },
  {
    words: "usage",
    required: ["account"],
    optional: ["limit"],
    about: "list the calls of an account, newest first; all, or up to --limit",
    run: (client, { account, limit }) =>
      list(client, `${accountPath(account)}/usage`, {}, limit, (last) => ({
        before: `${String(last["at"])},${String(last["call_id"])}`,
      })),
  },
  {
    words: "refused",
    required: ["account"],
    optional: [],
    about:
      "show which calls were refused (400, 402, 429…), and why: counts by day, key, status and cause, and the last ones",
    run: async (client, { account }) => value(await client.get(`${accountPath(account)}/refused`)),
  },
  {
    words: "call list",
    required: [],
    optional: [
      ...["account", "key", "model", "upstream", "status", "cost", "from", "to", "before", "limit"],
    ],
    options: {
      upstream: { value: "NAME", about: "a provider, or - for none", example: "anthropic" },
      cost: {
        value: "KIND",
        about:
          "unknown: calls whose cost is not known; below: those that cost more than they brought",
        example: "below",
      },
      status: { value: "STATUS", about: "failed, or one status", example: "failed" },
      before: { value: "NEXT", about: "go on from `next` of the list before" },
    },
    about:
      "list calls of all customers, newest first, and `next` if there are more; reads at most 20,000 calls for one list",
    run: async (client, options) => value(await client.get("/calls", given(options))),
  },
  {
    words: "call show",
    required: ["call"],
    optional: [],
    about:
      "show a call by its id (x-request-id), or why it was refused; recompute its cost; exit 1 if the costs differ",
    run: async (client, { call }) => {
      const found = await client.get(`/calls/${encoded(call)}`);
      const isWrong = isObject(found) && found["is_equal"] === false;
      return { kind: "value", value: found, exitCode: isWrong ? EXIT.refused : EXIT.ok };
    },
  },
  {
    words: "reconcile",
    required: [],
    optional: ["older-than-seconds"],
    flags: ["full"],
    options: { full: { about: "add up every row of the ledger again" } },
    about:
      "compare all wallets with the ledger; exit 1 and show the rows that differ, and items that are older than a call may last. " +
      "Adds up the ledger rows since the last time; with --full, all of them",
    run: async (client, options) => {
      const { "older-than-seconds": olderThan, full } = options;
      const report = await reconciled(client, full !== undefined, olderThan);
      if (!isObject(report)) return { kind: "value", value: report, exitCode: EXIT.refused };
      const isClean = report["drift"] === false && (report["overdue"] ?? 0) === 0;
      return { kind: "value", value: report, exitCode: isClean ? EXIT.ok : EXIT.refused };
    },
  },
  {
    words: "drift show",
    required: ["account"],
    optional: ["purse", "language"],
    options: { language: { value: "LANGUAGE", about: "en (the default) or vi", example: "vi" } },
    about:
      "show which figure of a wallet or purse is wrong: rows, balances after them, top-ups, usage and the loaded amount; which " +
      "amount is proven, the difference, and what to do; accounts and purses that drift are in reconcile",
    run: async (client, { account, purse, language }) =>
      value(await client.get(`${accountPath(account)}/drift`, given({ purse, language }))),
  },
  {
    words: "drift mend",
    required: ["account", "difference-vnd"],
    optional: ["purse", "reason"],
    options: {
      "difference-vnd": { about: "exactly that of drift show", example: "-50000" },
      reason: { about: "why; default drift; the customer sees it if an adjustment is booked" },
    },
    about:
      "mend what drift show says: book the difference if ledger rows were changed, else add up the stored balance again, and " +
      "let the gateways load it again",
    flags: MONEY_FLAGS,
    run: async (client, values, ask) => {
      const { account, purse, "difference-vnd": difference, reason } = values;
      const wanted = { difference_vnd: difference, ...given({ purse, reason }) };
      return value(await postMoney(client, `${accountPath(account)}/drift`, wanted, values, ask));
    },
  },
  {
    words: "holds list",
    required: [],
    optional: ["limit"],
    about: "list the money held by calls and movements, oldest first; 100, or up to --limit",
    run: async (client, { limit }) => value(await client.get("/holds", given({ limit }))),
  },
  {
    words: "quarantine list",
    required: [],
    optional: ["limit"],
    about: "list calls that the ledger refused to commit, with reasons; 100, or up to --limit",
    run: async (client, { limit }) => value(await client.get("/quarantine", given({ limit }))),
  },
  {
    words: "quarantine retry",
    required: ["call"],
    optional: [],
    about: "commit a quarantined call after its cause is fixed",
    run: async (client, { call }) =>
      value(await client.post(`/quarantine/${encoded(call)}/retry`, {})),
  },
  {
    words: "quarantine retry-all",
    required: [],
    optional: [],
    about:
      "commit every quarantined call, as after an upgrade; exit 1 and show those still refused",
    run: async (client) => {
      const { settled, refused } = await retryAll(client);
      const result = { settled, still_refused: refused.size, calls: Object.fromEntries(refused) };
      return { kind: "value", value: result, exitCode: refused.size ? EXIT.refused : EXIT.ok };
    },
  },
];

/** Returns the report of `GET /reconcile`, after adding up the ledger rows since the last time, or all of them. */
export async function reconciled(
  client: Client,
  isFull = false,
  olderThanSeconds?: string,
): Promise<unknown> {
  await prove(client, isFull);
  return client.get("/reconcile", given({ older_than_seconds: olderThanSeconds }));
}

/** Retries page by page. Stops at a page of calls that are all still refused: they are the oldest, and stay. */
async function retryAll(
  client: Client,
): Promise<{ settled: number; refused: Map<string, string> }> {
  let settled = 0;
  const refused = new Map<string, string>();
  for (;;) {
    const page = await client.get("/quarantine", { limit: RETRIED_AT_ONCE });
    const ids = arrayOf(page).map((row) => String(objectOf(row)?.["call_id"]));
    const untried = ids.filter((id) => !refused.has(id));
    if (untried.length === 0) return { settled, refused };
    for (const id of untried) {
      try {
        await client.post(`/quarantine/${encoded(id)}/retry`, {});
        settled += 1;
      } catch (error) {
        if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error;
        refused.set(id, error.message);
      }
    }
  }
}

/** Says which transaction keeps the newest rows from being proven, if one does. */
function warnOf(transaction: unknown): void {
  if (!isObject(transaction)) return;
  const { pid, name, since } = transaction;
  console.error(
    `warning: the newest ledger rows are not proven yet: a transaction (process ${pid ?? "unknown"}, ` +
      `${name ?? "unknown"}) has been open since ${since ?? "an unknown time"} and may still write rows. ` +
      "Each reconcile adds them up again until it ends",
  );
}

/** Adds up the ledger page by page, and shows the progress. If it is stopped, the next `prove` continues from there. */
async function prove(client: Client, isFull: boolean): Promise<void> {
  let query = given({ restart: isFull ? "true" : undefined });
  for (;;) {
    const progress = await client.get("/reconcile/proof", query);
    if (!isObject(progress)) return;
    if (progress["done"] === true) return warnOf(progress["held_up_by"]);
    console.error(`added up ${progress["proven_rows"]} of ${progress["rows"]} ledger rows`);
    query = {};
  }
}
