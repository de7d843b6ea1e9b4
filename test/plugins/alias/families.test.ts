import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { formatProblems, loadConfig } from "../../../core/config/load.ts";
import { Catalogue } from "../../../core/contract/catalogue.ts";
import { isObject } from "../../../core/process/json.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { familiesOf } from "../../../plugins/alias/families.ts";

async function shipped() {
  const loaded = await loadConfig(join(packageRoot, "config", "gateway.yaml"), {});
  if (!loaded.ok) assert.fail(formatProblems(loaded.problems));
  return loaded.config;
}

/** The families of ids, for options that name none. */
async function of(...ids: string[]) {
  const { catalogue } = await shipped();
  const [model] = catalogue.models;
  assert.ok(model);
  const found = familiesOf({}, new Catalogue(ids.map((id) => ({ ...model, id }))));
  return { families: Object.fromEntries(found.ids), default: found.defaultName };
}

describe("an alias without options", () => {
  it("has the families that the shipped config names, and opus as the default", async () => {
    const { catalogue, plugins } = await shipped();
    const options = plugins.find(({ name }) => name === "alias")?.options;
    assert.ok(isObject(options));
    const found = familiesOf({}, catalogue);
    assert.deepEqual(Object.fromEntries(found.ids), options["families"]);
    assert.equal(found.defaultName, options["default_family"]);
  });

  it("takes the highest version of a family, whatever the order of the catalogue", async () => {
    const { families } = await of(
      "claude-opus-4-8",
      "claude-opus-5-10",
      "claude-opus-5-9",
      "claude-opus-5",
      "svc/claude-opus-9",
      "claude-opus-latest",
    );
    assert.deepEqual(families, { opus: "claude-opus-5-10" });
  });

  it("falls back to the first family of a catalogue without opus", async () => {
    assert.equal((await of("claude-haiku-5", "claude-sonnet-5")).default, "haiku");
  });

  it("has no family, and so no default, with a catalogue that has none", async () => {
    assert.deepEqual(await of("gpt-4.1-nano"), { families: {}, default: undefined });
  });
});
