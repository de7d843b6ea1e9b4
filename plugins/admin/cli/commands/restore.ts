import { createInterface } from "node:readline/promises";
import { type Command, value } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";

const WHAT =
  "This loads every wallet from the ledger again, and drops the calls and top-ups that the ledger does not " +
  "have any more. Restore the backup of Postgres first.";

export const restoreCommands: readonly Command[] = [
  {
    words: "restore",
    required: [],
    optional: [],
    flags: ["yes"],
    about: "after Postgres was restored: load every wallet from the ledger, and serve calls again",
    run: async (client, { yes }) => {
      if (yes === undefined) await confirm();
      return value(await client.post("/restore", { confirmed: true }));
    },
  },
];

/** Asks at a terminal. Throws a Failure without a terminal, or for any reply but "yes". */
async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new Failure(EXIT.usage, `${WHAT} To confirm, add --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const reply = await terminal.question(`${WHAT}\nType yes to go on: `);
    if (reply.trim() !== "yes") throw new Failure(EXIT.refused, "nothing was changed");
  } finally {
    terminal.close();
  }
}
