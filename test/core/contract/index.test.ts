import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import * as contract from "../../../core/contract/index.ts";
import { packageRoot } from "../../../core/process/root.ts";

/** The name of the wallet's limit among those that a plugin may hold under: each refusal carries one. */
const FOR_OUTSIDERS = ["WALLET_LIMIT"];

t.test("the contract's list", async (t) => {
  t.test("offers no function or constant that no plugin here uses", async (t) => {
    const folder = join(packageRoot, "plugins");
    const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(folder, file), "utf8"))
      .filter((text) => text.includes("core/contract/index.ts"));
    const offered = Object.keys(contract);
    t.ok(offered.length > 50);
    const unused = offered.filter(
      (name) =>
        !FOR_OUTSIDERS.includes(name) &&
        !sources.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
    );
    t.strictSame(unused, []);
  });

  t.test("is published whole under the name that outsiders import", async (t) => {
    const { exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
    const published = await import(join(packageRoot, exports["./plugin"].default));
    t.strictSame(Object.keys(published), Object.keys(contract));
    const types = readFileSync(join(packageRoot, exports["./plugin"].types), "utf8");
    for (const name of ["Plugin", "Services", "Call", "Command", "Refusal"]) {
      t.match(types, new RegExp(`\\b${name}\\b`));
    }
  });
});
