import type { Command } from "./command.ts";
import { accountCommands } from "./commands/accounts.ts";
import { keyCommands } from "./commands/keys.ts";
import { moneyCommands } from "./commands/money.ts";
import { operationCommands } from "./commands/operations.ts";

/** What `npm run admin --` can do of its own; a running gateway has more, from its plugins. */
export const commands: readonly Command[] = [
  ...accountCommands,
  ...keyCommands,
  ...moneyCommands,
  ...operationCommands,
];
