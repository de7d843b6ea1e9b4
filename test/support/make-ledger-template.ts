/** Creates an embedded database in the folder given as its argument, and runs all migrations. */
import { PGlite } from "@electric-sql/pglite";
import type { Parameter } from "../../core/contract/database.ts";
import { migrateAll } from "./migrations.ts";

const [folder = ""] = process.argv.slice(2);
const db = await PGlite.create(folder);
await migrateAll({
  query: async <Row extends object>(text: string, parameters: readonly Parameter[] = []) =>
    (await db.query<Row>(text, [...parameters])).rows,
  script: async (text) => {
    await db.exec(text);
  },
  end: () => db.close(),
});
await db.close();
