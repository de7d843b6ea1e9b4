import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { configJsonSchema } from "../../../core/config/json-schema.ts";
import { packageRoot } from "../../../core/process/root.ts";

t.test("the JSON schema for editors is up to date; if not, run npm run schema", async (t) => {
  const written: unknown = JSON.parse(
    await readFile(join(packageRoot, "config/schema.json"), "utf8"),
  );
  t.strictSame(written, JSON.parse(JSON.stringify(await configJsonSchema())));
});

t.test("every YAML file in the config folder names the schema", async (t) => {
  for (const name of ["gateway", "production", "catalogue", "costs"]) {
    const text = await readFile(join(packageRoot, `config/${name}.yaml`), "utf8");
    t.ok(text.startsWith("# yaml-language-server: $schema=./schema.json\n"), name);
  }
});
