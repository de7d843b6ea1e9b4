/** Creates an embedded database in the folder given as its argument, and runs all migrations. */
import { EmbeddedDatabase } from "../../core/database/embedded.ts";
import { recordedLog } from "./log.ts";
import { migrateAll } from "./migrations.ts";

const [folder = ""] = process.argv.slice(2);
const { log } = recordedLog();
const database = new EmbeddedDatabase({ folder, settings: { fsync: "off" }, log });
await database.start();
await migrateAll(database.sql);
await database.stop();
