import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { configJsonSchema } from "../../../core/config/json-schema.ts";
import { packageRoot } from "../../../core/process/root.ts";

test("the JSON schema for editors is the one of the code: else run npm run schema", async () => {
  const written: unknown = JSON.parse(
    await readFile(join(packageRoot, "config/schema.json"), "utf8"),
  );
  assert.deepEqual(written, JSON.parse(JSON.stringify(await configJsonSchema())));
});

test("every YAML file of the config folder names the schema", async () => {
  for (const name of ["gateway", "production", "catalogue"]) {
    const text = await readFile(join(packageRoot, `config/${name}.yaml`), "utf8");
    assert.ok(text.startsWith("# yaml-language-server: $schema=./schema.json\n"), name);
  }
});
