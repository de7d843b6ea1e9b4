import type { Command } from "../../core/plugin/index.ts";

const transfer: NonNullable<Command["options"]>[number] = {
  name: "transfer",
  value: "ID",
  about: "the id of a transfer, from transfer list",
  example: "17",
  required: true,
};
const reason: NonNullable<Command["options"]>[number] = {
  name: "reason",
  value: "TEXT",
  required: true,
};

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  {
    words: "order show",
    about: "show a top-up order by its code, paid or not, and its account",
    method: "GET",
    path: "/admin/v1/orders/:code",
    options: [
      {
        name: "code",
        value: "CODE",
        about: "the code that the customer writes into the transfer",
        example: "TG1A2B3C4D",
        required: true,
      },
    ],
  },
  {
    words: "order list",
    about: "list a customer's top-up orders, newest first",
    method: "GET",
    path: "/admin/v1/accounts/:account/orders",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "limit", value: "N" },
    ],
    pages: { query: "before", field: "id" },
  },
  {
    words: "transfer list",
    about:
      "list bank transfers, newest first; all, or one state: matched, credited, unmatched, ignored, returned",
    method: "GET",
    path: "/admin/v1/transfers",
    options: [
      { name: "state", value: "STATE", example: "unmatched" },
      { name: "account", value: "ID|EMAIL" },
      { name: "query", value: "TEXT", about: "an id, an order's code or the bank's reference" },
      { name: "limit", value: "N" },
    ],
    pages: { query: "before", field: "sequence" },
  },
  {
    words: "transfer show",
    about: "show a transfer with the bank's original notification",
    method: "GET",
    path: "/admin/v1/transfers/:transfer",
    options: [transfer],
  },
  {
    words: "transfer suggest",
    about:
      "show who may have sent a transfer without an owner: an order with its code, or one that differs by one letter, an unpaid " +
      "order of the same amount, an earlier payer of the same name",
    method: "GET",
    path: "/admin/v1/transfers/:transfer/suggestions",
    options: [transfer],
  },
  {
    words: "transfer import",
    about:
      "record transfers of a bank's statement that SePay did not notify; with --dry-run " +
      "show which are known, new or unclear, and which known ones the statement lacks; record nothing",
    method: "POST",
    path: "/admin/v1/transfers/import",
    options: [
      {
        name: "file",
        value: "FILE",
        about: "a statement as CSV in UTF-8",
        example: "statement.csv",
        required: true,
        type: "file",
      },
      { name: "dry-run", type: "flag" },
    ],
  },
  {
    words: "transfer assign",
    about: "credit an unmatched transfer to an account, or to an order by its code",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/assign",
    options: [
      transfer,
      reason,
      { name: "account", value: "ID|EMAIL" },
      { name: "order", value: "CODE", about: "the code of an order, instead of its account" },
    ],
    oneOf: ["account", "order"],
    confirms: true,
  },
  {
    words: "transfer reverse",
    about:
      "take a transfer back from the wrong account; it can be assigned again; the customer sees the reason",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/reverse",
    options: [transfer, reason, { name: "as-much-as-there-is", type: "flag" }],
    confirms: true,
  },
  {
    words: "transfer ignore",
    about: "ignore an unmatched transfer",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/ignore",
    options: [transfer, reason],
  },
  {
    words: "transfer return",
    about: "note that you have sent a transfer back at the bank; it cannot be assigned any more",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/return",
    options: [transfer, reason],
  },
];
