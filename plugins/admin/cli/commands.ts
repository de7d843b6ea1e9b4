import type { Command } from "./command.ts";
import { accountCommands } from "./commands/accounts.ts";
import { keyCommands } from "./commands/keys.ts";
import { moneyCommands } from "./commands/money.ts";
import { operationCommands } from "./commands/operations.ts";
import { transferCommands } from "./commands/transfers.ts";

/** Everything that `npm run admin --` can do. */
export const commands: readonly Command[] = [
  ...accountCommands,
  ...keyCommands,
  ...moneyCommands,
  ...transferCommands,
  ...operationCommands,
];
