/** `npm run inventory`: writes what the product offers into `inventory.txt`. */
import { writeFileSync } from "node:fs";
import { startRunPostgres } from "../support/postgres.ts";
import { INVENTORY, inventory } from "./inventory.ts";

const run = await startRunPostgres();
Object.assign(process.env, run.env);
try {
  writeFileSync(INVENTORY, await inventory());
} finally {
  await run.stop();
}
