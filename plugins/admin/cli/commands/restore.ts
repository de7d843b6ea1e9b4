import { type Command, value } from "../command.ts";
import { confirm } from "../confirm.ts";

const WHAT =
  "This loads every wallet from the ledger again, and drops the calls and top-ups that the ledger does not " +
  "have any more. Restore the backup of Postgres first.";

export const restoreCommands: readonly Command[] = [
  {
    words: "restore",
    required: [],
    optional: [],
    flags: ["yes"],
    about: "load every wallet from the ledger, after Postgres was restored; serves calls again",
    run: async (client, { yes }, ask) => {
      if (yes === undefined) await confirm(`${WHAT} Go on?`, ask);
      return value(await client.post("/restore", { confirmed: true }));
    },
  },
];
