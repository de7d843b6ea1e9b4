import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { joinScripts } from "../../../plugins/page-parts/join-scripts.ts";

const LIBRARIES = new Map([["library", "vendor/library.js"]]);

t.test("scripts are joined into one file for all pages, and one for each page", async (t) => {
  const scripts = {
    "main.js": `/** Comments may come first. */
import { add as plus } from "./sum.js";
export const load = {
  a: () => import("./pages/a.js"),
  b: () => import("./pages/b.js"),
  library: () => import("library"),
};
export const three = plus(1, 2);
`,
    "sum.js": "// Why.\nexport function add(a, b) {\n  // Why so.\n  return a + b;\n}\n",
    "shared.js": `import { add } from "./sum.js";
let count = 0;
export class Counter {}
export async function next() {
  count = add(count, 1);
  return count;
}
`,
    "own/only-a.js": `const name = 'a';
export const shown = \`
import x from 'y';
\${name}\`;
`,
    "types.js": "export {};\n",
    "pages/a.js": `import { shown } from "../own/only-a.js";
import { next, Counter, } from "../shared.js";
import {} from "../types.js";
const name = "another scope";
export const page = async () => [shown, await next(), typeof Counter, name];
`,
    "pages/b.js": `import whole, { part } from "library";
import { next } from "../shared.js";
export const page = async () => [whole, part, await next()];
`,
    "nobody/imports.js": "export const me = 1;\n",
  };
  const joined = joinScripts(new Map(Object.entries(scripts)), LIBRARIES);
  t.strictSame([...joined.keys()].sort(), ["main.js", "pages/a.js", "pages/b.js"]);
  t.match(joined.get("pages/a.js"), "$own_only_a");
  t.notMatch(joined.get("main.js"), "$own_only_a");
  t.notMatch(joined.get("main.js"), /Comments|Why/);

  const folder = t.testdir({
    "package.json": '{ "type": "module" }',
    "main.js": joined.get("main.js") ?? "",
    pages: { "a.js": joined.get("pages/a.js") ?? "", "b.js": joined.get("pages/b.js") ?? "" },
    vendor: { "library.js": "export default 'whole';\nexport const part = 'part';\n" },
  });
  const { $main: main } = await import(pathToFileURL(join(folder, "main.js")).href);
  t.equal(main.three, 3);
  const a = await main.load.a();
  t.strictSame(await a.page(), ["\nimport x from 'y';\na", 1, "function", "another scope"]);
  const b = await main.load.b();
  t.strictSame(await b.page(), ["whole", "part", 2], "both pages have the same shared script");
  t.equal((await main.load.library()).part, "part");
});

t.test("what cannot be joined is refused", async (t) => {
  for (const [text, problem] of [
    ['import { x } from "./missing.js";', /main\.js imports \.\/missing\.js/],
    ['import { x } from "unknown";', /main\.js imports unknown/],
    ['import "./main.js";', /another form: import "\.\/main\.js"/],
    ["export let count = 0;", /another form: export let/],
    ["export default 1;", /another form: export default/],
    ['export * from "./main.js";', /another form: export \*/],
  ] as const) {
    t.throws(() => joinScripts(new Map([["main.js", `${text}\n`]]), LIBRARIES), problem, text);
  }
  const both = new Map([
    ["main.js", 'export const load = [() => import("./a.js"), () => import("./b.js")];\n'],
    ["a.js", 'import { b } from "./b.js";\nexport const a = b;\n'],
    ["b.js", "export const b = 1;\n"],
  ]);
  t.throws(() => joinScripts(both, LIBRARIES), /b\.js is imported on demand and otherwise/);
});
