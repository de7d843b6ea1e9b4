import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t from "tap";
import { accepted, folderOf, GATEWAY, refused, swap } from "./files.ts";

const PLAIN = `export default () => ({ name: "plain" });\n`;
const COUNTING = `
import * as v from "${import.meta.resolve("valibot")}";
export const options = v.strictObject({ count: v.number(), step: v.optional(v.number(), 1) });
export default (services, options) => ({ name: "counting" });
`;

function withPlugins(list: string): string {
  const withoutToken = swap(GATEWAY, "token: 0123456789abcdef", "");
  return swap(withoutToken, "plugins:\n  - ./plugin.js\n", `plugins:\n${list}`);
}

const CONTRACT = `
import { mapping, refuse, v, whole } from "tollgate/plugin";
export const options = mapping({ count: v.optional(whole(1, 9), 2) });
export default () => ({ name: "contract", admit: () => refuse.forbidden("not today") });
`;
const TYPED = `
import { type Plugin, type Services, v } from "tollgate/plugin";
export const options: v.GenericSchema = v.strictObject({ count: v.number() });
export default function typed(services: Services): Plugin { return { name: "typed" }; }
`;
const runsTypeScript = Boolean(Reflect.get(process.features, "typescript"));

t.test("a plugin is found", async (t) => {
  t.test("by the name of a built-in plugin", async (t) => {
    const { plugins } = await accepted(t, { "gateway.yaml": withPlugins("  - auth\n") });
    t.equal(plugins[0]?.name, "auth");
    t.equal(typeof plugins[0]?.module.default, "function");
  });

  t.test("by a path beside the config file, to a file or a folder with an index.js", async (t) => {
    const { plugins } = await accepted(t, {
      "gateway.yaml": withPlugins("  - ./own/plain.js\n  - ./own/folder\n"),
      "own/plain.js": PLAIN,
      "own/folder/index.js": PLAIN,
    });
    t.strictSame(
      plugins.map(({ name, options }) => [name, options]),
      [
        ["./own/plain.js", undefined],
        ["./own/folder", undefined],
      ],
    );
  });

  t.test("as a package that exports to `import` only, or names a main file", async (t) => {
    const { plugins } = await accepted(t, {
      "gateway.yaml": withPlugins(`  - modern\n  - "@scope/classic"\n`),
      "node_modules/modern/package.json": `{"type":"module","exports":{".":{"import":"./lib.js"}}}`,
      "node_modules/modern/lib.js": PLAIN,
      "node_modules/@scope/classic/package.json": `{"type":"module","main":"main.js"}`,
      "node_modules/@scope/classic/main.js": PLAIN,
    });
    t.equal(plugins.length, 2);
  });

  t.test("and imports the contract from a folder without node_modules", async (t) => {
    const { plugins } = await accepted(t, {
      "gateway.yaml": withPlugins("  - ./contract.js: {}\n"),
      "contract.js": CONTRACT,
    });
    t.strictSame(plugins[0]?.options, { count: 2 });
  });

  t.test("in TypeScript, if this Node runs it", async (t) => {
    for (const list of ["  - ./typed.ts: { count: 1 }\n", "  - ./folder: { count: 1 }\n"]) {
      const files = {
        "gateway.yaml": withPlugins(list),
        "typed.ts": TYPED,
        "folder/index.ts": TYPED,
      };
      if (runsTypeScript) {
        t.strictSame((await accepted(t, files)).plugins[0]?.options, { count: 1 });
        continue;
      }
      const [problem = ""] = await refused(t, files);
      assert.match(
        problem,
        /JavaScript module, since this Node does not run TypeScript; compile .* with tsc .*22\.18/,
      );
    }
  });

  t.test("and only an outside one makes the gateway resolve the contract's name", async (t) => {
    const own = swap(GATEWAY, "  - ./plugin.js\n", "  - auth\n");
    const folder = await folderOf(t, { "own.yaml": own, "outside.yaml": GATEWAY });
    const load = new URL("../../../core/config/load.js", import.meta.url).href;
    const script = `
      const { loadConfig } = await import(${JSON.stringify(load)});
      for (const file of ["own.yaml", "outside.yaml"]) {
        await loadConfig(${JSON.stringify(folder)} + "/" + file, {});
        const url = "data:text/javascript,import 'tollgate/plugin'; //" + file;
        console.log(await import(url).then(() => "found", () => "not found"));
      }`;
    const run = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    t.strictSame(run, { stdout: "not found\nfound\n", stderr: "" });
  });

  t.test("and gets its options as parsed by its schema", async (t) => {
    const { plugins } = await accepted(t, {
      "gateway.yaml": withPlugins("  - ./counting.js: { count: 3 }\n"),
      "counting.js": COUNTING,
    });
    t.strictSame(plugins[0]?.options, { count: 3, step: 1 });
  });
});

t.test("a plugin is refused", async (t) => {
  const place = "gateway.yaml:13 plugins";
  const rows: readonly (readonly [list: string, ...expected: string[]])[] = [
    [
      "  - nothing-of-this-name\n",
      `${place}[0]: expected a built-in plugin, a path that begins with ./, ../ or /, or an installed package; found none named nothing-of-this-name`,
    ],
    [
      "  - ./nothing.js\n",
      `${place}[0]: expected a built-in plugin, a path that begins with ./, ../ or /, or an installed package; found none named ./nothing.js`,
    ],
    ["  - ./none.js\n", `${place}[0]: expected a module whose default export creates a plugin`],
    ["  - ./throws.js\n", `${place}[0]: expected a module that can be loaded: not today`],
    [
      "  - ./plain.js\n  - ./plain.js\n",
      `gateway.yaml:14 plugins[1]: expected each plugin at most once; plugins[0] is the same plugin`,
    ],
    [
      "  - ./plain.js: { a: 1 }\n",
      `${place}[0]["./plain.js"]: expected no options; this plugin has none`,
    ],
    [
      "  - {}\n",
      `${place}[0]: expected the name of a plugin, or one name with its options, got an empty mapping`,
    ],
    [
      "  - { a: 1, b: 2 }\n",
      `${place}[0]: expected the name of a plugin, or one name with its options, got a mapping`,
    ],
    [
      "  - [a]\n",
      `${place}[0]: expected the name of a plugin, or one name with its options, got a list`,
    ],
    ["  - ./counting.js: [1]\n", `${place}[0]["./counting.js"]: expected a mapping, got a list`],
    ["  - ./counting.js\n", `${place}[0]["./counting.js"].count: expected a value, got nothing`],
    [
      "  - ./counting.js: { count: many, step: 2, stop: 3, hop: 4 }\n",
      `${place}[0]["./counting.js"].count: expected a number, got text`,
      `${place}[0]["./counting.js"].hop: unknown key`,
      `${place}[0]["./counting.js"].stop: unknown key`,
    ],
  ];
  for (const [list, ...expected] of rows) {
    t.test(String(expected[0]), async (t) => {
      const files = {
        "gateway.yaml": withPlugins(list),
        "plain.js": PLAIN,
        "none.js": `export const plugin = 1;\n`,
        "throws.js": `throw new Error("not today");\n`,
        "counting.js": COUNTING,
      };
      t.strictSame(await refused(t, files), expected);
    });
  }
});
