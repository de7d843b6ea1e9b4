import type { Command, CommandOption } from "../../core/contract/index.ts";

const transfer: CommandOption = { name: "transfer", value: "ID", required: true };
const reason: CommandOption = { name: "reason", value: "TEXT", required: true };

/** An operator's commands for transfers. */
export const commands: readonly Command[] = [
  {
    words: "transfer list",
    about:
      "shows what the bank told of, newest first: all of it, or what is matched, credited, unmatched or ignored",
    method: "GET",
    path: "/admin/v1/transfers",
    options: [
      { name: "state", value: "STATE" },
      { name: "limit", value: "N" },
    ],
    pages: { query: "before", field: "sequence" },
  },
  {
    words: "transfer show",
    about: "shows one transfer with the bank's notification as it came",
    method: "GET",
    path: "/admin/v1/transfers/:transfer",
    options: [transfer],
  },
  {
    words: "transfer assign",
    about: "credits a transfer that waits to an account, or to the account and order of a code",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/assign",
    options: [transfer, reason, { name: "account", value: "ID" }, { name: "order", value: "CODE" }],
    oneOf: ["account", "order"],
  },
  {
    words: "transfer ignore",
    about: "leaves a transfer that waits out of it all, since it is no top-up",
    method: "POST",
    path: "/admin/v1/transfers/:transfer/ignore",
    options: [transfer, reason],
  },
];
