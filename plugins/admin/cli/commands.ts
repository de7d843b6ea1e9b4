import type { Command } from "./command.ts";
import { accountImportCommand } from "./commands/account-import.ts";
import { accountCommands } from "./commands/accounts.ts";
import { archiveCommands } from "./commands/archive.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { initCommand } from "./commands/init.ts";
import { keyCommands } from "./commands/keys.ts";
import { moneyCommands } from "./commands/money.ts";
import { operationCommands } from "./commands/operations.ts";
import { restoreCommands } from "./commands/restore.ts";

/** The built-in commands of `npm run admin --`. A running gateway adds those of its plugins. */
export const commands: readonly Command[] = [
  initCommand,
  doctorCommand,
  ...accountCommands,
  accountImportCommand,
  ...keyCommands,
  ...moneyCommands,
  ...restoreCommands,
  ...archiveCommands,
  ...operationCommands,
];
