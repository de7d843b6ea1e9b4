import assert from "node:assert/strict";
import { join } from "node:path";
import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import { formatProblems, loadConfig } from "../../../core/config/load.ts";
import { isObject } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { familiesOf } from "../../../plugins/alias/families.ts";

async function shipped() {
  const loaded = await loadConfig(join(packageRoot, "config", "gateway.yaml"), {});
  if (!loaded.ok) assert.fail(formatProblems(loaded.problems));
  return loaded.config;
}

/** The families found among these ids, with default options. */
async function of(...ids: string[]) {
  const { catalogue } = await shipped();
  const [model] = catalogue.models;
  assert.ok(model);
  const found = familiesOf({}, new Catalogue(ids.map((id) => ({ ...model, id }))));
  return { families: Object.fromEntries(found.ids), default: found.defaultName };
}

t.test("an alias without options", async (t) => {
  t.test("has the families of the shipped config, and opus as the default", async (t) => {
    const { catalogue, plugins } = await shipped();
    const options = plugins.find(({ name }) => name === "alias")?.options;
    assert.ok(isObject(options));
    const found = familiesOf({}, catalogue);
    t.strictSame(Object.fromEntries(found.ids), options["families"]);
    t.equal(found.defaultName, options["default_family"]);
  });

  t.test("picks the highest version of a family, in any order of the catalogue", async (t) => {
    const { families } = await of(
      "claude-opus-4-8",
      "claude-opus-5-10",
      "claude-opus-5-9",
      "claude-opus-5",
      "svc/claude-opus-9",
      "claude-opus-latest",
    );
    t.strictSame(families, { opus: "claude-opus-5-10" });
  });

  t.test("uses the first family as the default if the catalogue has no opus", async (t) => {
    t.equal((await of("claude-haiku-5", "claude-sonnet-5")).default, "haiku");
  });

  t.test("has no family and no default if the catalogue has none", async (t) => {
    t.strictSame(await of("gpt-4.1-nano"), { families: {}, default: undefined });
  });
});
