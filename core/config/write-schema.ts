/** Writes `config/schema.json`: run it after a change of what the config files may hold. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../process/root.ts";
import { configJsonSchema } from "./json-schema.ts";

const file = join(packageRoot, "config/schema.json");
await writeFile(file, `${JSON.stringify(await configJsonSchema(), null, 2)}\n`);
