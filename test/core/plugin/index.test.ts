import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import * as contract from "../../../core/plugin/index.ts";
import { packageRoot } from "../../../core/process/root.ts";

/** The plugin of the README that brings a protocol of clients needs it. */
const FOR_OUTSIDERS = ["endpointAt"];

t.test("the contract", async (t) => {
  t.test("exports only functions and constants that a plugin here uses", async (t) => {
    const folder = join(packageRoot, "plugins");
    const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(folder, file), "utf8"))
      .filter((text) => text.includes("core/plugin/index.ts"));
    const offered = Object.keys(contract);
    t.ok(offered.length > 50);
    const unused = offered.filter(
      (name) =>
        !FOR_OUTSIDERS.includes(name) &&
        !sources.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
    );
    t.strictSame(unused, []);
  });

  t.test("is published in full under the name that outside plugins import", async (t) => {
    const { exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
    const published = await import(join(packageRoot, exports["./plugin"].default));
    t.strictSame(Object.keys(published), Object.keys(contract));
    const types = readFileSync(join(packageRoot, exports["./plugin"].types), "utf8");
    for (const name of ["Plugin", "Services", "Call", "Command", "Refusal"]) {
      t.match(types, new RegExp(`\\b${name}\\b`));
    }
  });
});
