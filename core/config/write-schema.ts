/** Writes `config/schema.json`. Run it after changing a config schema. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../process/root.ts";
import { configJsonSchema } from "./json-schema.ts";

const file = join(packageRoot, "config/schema.json");
await writeFile(file, `${JSON.stringify(await configJsonSchema(), null, 2)}\n`);
