import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, it } from "node:test";
import { packageRoot } from "../../core/process/root.ts";

interface Import {
  readonly from: string;
  /** A path of the project, or the name of a package. */
  readonly to: string;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*["']([^"']+)["']|import\s*\(\s*["']([^"']+)["']|(?:^|\n)import\s+["']([^"']+)["']/g;

function importsOf(folder: string): Import[] {
  const files = readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(folder, file))
    .flatMap((file) => {
      const text = readFileSync(join(packageRoot, file), "utf8");
      return Array.from(text.matchAll(IMPORT), (match) => {
        const name = match[1] ?? match[2] ?? match[3] ?? "";
        const to = name.startsWith(".") ? normalize(join(dirname(file), name)) : name;
        return { from: slashes(file), to: slashes(to) };
      });
    });
}

const slashes = (path: string) => path.split(sep).join("/");
const shown = (imports: readonly Import[]) => imports.map(({ from, to }) => `${from} -> ${to}`);

const core = importsOf("core");
const plugins = importsOf("plugins");
const product = [...core, ...plugins];

describe("imports", () => {
  it("are found", () => {
    assert.ok(core.length > 200 && plugins.length > 200, `${core.length}, ${plugins.length}`);
    assert.ok(core.some(({ from, to }) => from === "core/main.ts" && to === "core/boot.ts"));
  });

  it("of the core never lead to a plugin, the benchmark or a test", () => {
    const wrong = core.filter(({ to }) => /^(?:plugins|bench|test)\//.test(to));
    assert.deepEqual(shown(wrong), []);
  });

  it("of plugins never lead to another plugin, the benchmark or a test", () => {
    const folder = (path: string) => path.split("/").slice(0, 2).join("/");
    const wrong = plugins.filter(
      ({ from, to }) =>
        /^(?:bench|test)\//.test(to) || (to.startsWith("plugins/") && folder(to) !== folder(from)),
    );
    assert.deepEqual(shown(wrong), []);
  });

  it("of the benchmark never lead to a test", () => {
    const wrong = importsOf("bench").filter(({ to }) => to.startsWith("test/"));
    assert.deepEqual(shown(wrong), []);
  });

  for (const [name, allowed] of [
    ["ioredis", /^core\/hot\/redis(?:\.ts|\/)/],
    ["postgres", /^core\/ledger\//],
    ["@electric-sql/", /^core\/ledger\//],
    ["uWebSockets.js", /^(?:core\/http|plugins\/simulator)\//],
    ["undici", /^core\/upstream\//],
  ] as const) {
    it(`of ${name} stand in their own place only`, () => {
      const all = product.filter(
        ({ to }) => to === name || (name.endsWith("/") && to.startsWith(name)),
      );
      assert.ok(all.length > 0, "somebody imports it");
      assert.deepEqual(shown(all.filter(({ from }) => !allowed.test(from))), []);
    });
  }

  it("never lead out of the project", () => {
    const wrong = [...product, ...importsOf("bench")].filter(({ to }) =>
      /^(?:\.\.|\/|file:)/.test(to),
    );
    assert.deepEqual(shown(wrong), []);
  });
});
