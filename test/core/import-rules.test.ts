import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";

interface Import {
  readonly from: string;
  /** A path in the project, or a package name. */
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

/** The rooms whose types and functions the contract of plugins shows. */
const BELOW_PLUGINS = [
  ...["accounts", "body", "catalogue", "database", "limits", "listener", "money", "process", "sse"],
  ...["usage", "wire"],
];

/** The rooms of core that each room may import; all may import node's own modules. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  process: [],
  sse: [],
  listener: ["process"],
  database: ["process"],
  redis: ["process"],
  catalogue: ["process"],
  wire: ["catalogue", "process", "sse"],
  body: ["catalogue", "listener", "process", "wire"],
  limits: ["redis", "process"],
  money: ["catalogue", "database", "process", "redis", "wire"],
  accounts: ["catalogue", "database", "money", "process", "wire"],
  usage: ["catalogue", "database", "money", "process", "wire"],
  plugin: [...BELOW_PLUGINS],
  upstream: ["plugin", "body", "catalogue", "wire", "sse", "process"],
  config: ["plugin", "catalogue", "database", "upstream", "process"],
  http: [...BELOW_PLUGINS.filter((room) => room !== "database"), "plugin", "upstream"],
};

/** The only files that may import all rooms, because they wire them together. */
const WIRING = /^core\/(?:main\.ts$|boot\/)/;

const slashes = (path: string) => path.split(sep).join("/");
const shown = (imports: readonly Import[]) => imports.map(({ from, to }) => `${from} -> ${to}`);

const core = importsOf("core");
const plugins = importsOf("plugins");
const product = [...core, ...plugins];

t.test("imports", async (t) => {
  t.test("are found", async (t) => {
    t.ok(core.length > 200 && plugins.length > 200, `${core.length}, ${plugins.length}`);
    t.ok(core.some(({ from, to }) => from === "core/main.ts" && to === "core/boot/gateway.ts"));
  });

  t.test("of core never lead to a plugin, the benchmark or a test", async (t) => {
    const wrong = core.filter(({ to }) => /^(?:plugins|bench|test)\//.test(to));
    t.strictSame(shown(wrong), []);
  });

  t.test("of core are in a room, except in the files that wire the rooms", async (t) => {
    const files = [...new Set(core.map(({ from }) => from))];
    const wrong = files.filter((file) => !WIRING.test(file) && !(roomOf(file) in ROOMS));
    t.strictSame(wrong, []);
  });

  for (const [room, allowed] of Object.entries(ROOMS)) {
    t.test(
      `of core/${room} lead to ${allowed.length > 0 ? allowed.join(", ") : "no other room"}`,
      async (t) => {
        const wrong = core.filter(
          ({ from, to }) =>
            from.startsWith(`core/${room}/`) &&
            to.startsWith("core/") &&
            !to.startsWith(`core/${room}/`) &&
            !allowed.includes(roomOf(to)),
        );
        t.strictSame(shown(wrong), []);
      },
    );
  }

  t.test("of core's rooms form no cycle", async (t) => {
    const ring = findRing(Object.keys(ROOMS), (room) =>
      core.filter(({ from }) => roomOf(from) === room).map(({ to }) => roomOf(to)),
    );
    t.strictSame(ring, []);
  });

  t.test("of browser code form no cycle", async (t) => {
    const browser = plugins.filter(({ from }) => /^plugins\/[\w-]+\/browser\//.test(from));
    const files = [...new Set(browser.map(({ from }) => from))];
    const ring = findRing(files, (file) =>
      browser.filter(({ from }) => from === file).map(({ to }) => to),
    );
    t.strictSame(ring, []);
  });

  t.test(
    "of plugins lead only to the contract, their own files, and the parts of pages and of signing in",
    async (t) => {
      const folder = (path: string) => path.split("/").slice(0, 2).join("/");
      const wrong = plugins.filter(({ from, to }) => {
        if (/^plugins\/(?:page|sign-in)-parts\//.test(to)) return false;
        if (to.startsWith("plugins/")) return folder(to) !== folder(from);
        return /^(?:core|bench|test)\//.test(to) && to !== "core/plugin/index.ts";
      });
      t.strictSame(shown(wrong), []);
    },
  );

  t.test(
    "of money lead to Postgres from the ledger only, and to Redis from its store only",
    async (t) => {
      const wrong = core.filter(
        ({ from, to }) =>
          from.startsWith("core/money/") &&
          ((to.startsWith("core/database/") && !from.startsWith("core/money/ledger/")) ||
            (to.startsWith("core/redis/") && !from.startsWith("core/money/redis/"))),
      );
      t.strictSame(shown(wrong), []);
    },
  );

  t.test(
    "of config lead only to the upstream kinds, and those to no other file of their room",
    async (t) => {
      const kinds = "core/upstream/kinds/";
      const wrong = core.filter(
        ({ from, to }) =>
          (from.startsWith("core/config/") || from.startsWith(kinds)) &&
          to.startsWith("core/upstream/") &&
          !to.startsWith(kinds),
      );
      t.strictSame(shown(wrong), []);
    },
  );

  t.test(
    "of the benchmark lead to no test, only to the simulated provider and ports",
    async (t) => {
      const allowed = /^test\/support\/(?:provider\/|free-port\.ts$)/;
      const wrong = importsOf("bench").filter(
        ({ to }) => to.startsWith("test/") && !allowed.test(to),
      );
      t.strictSame(shown(wrong), []);
    },
  );

  for (const [name, allowed] of [
    ["ioredis", /^core\/redis\//],
    ["postgres", /^core\/database\//],
    ["uWebSockets.js", /^core\/listener\//],
    ["multipasta", /^core\/body\//],
    ["undici", /^core\/upstream\//],
    ["valibot", /^core\//],
  ] as const) {
    t.test(`of ${name}, or of its inner modules, are in one room only`, async (t) => {
      const all = product.filter(({ to }) => to === name || to.startsWith(`${name}/`));
      t.ok(all.length > 0, "at least one file imports it");
      t.strictSame(shown(all.filter(({ from }) => !allowed.test(from))), []);
    });
  }

  t.test("never lead out of the project", async (t) => {
    const wrong = [...product, ...importsOf("bench")].filter(({ to }) =>
      /^(?:\.\.|\/|file:)/.test(to),
    );
    t.strictSame(shown(wrong), []);
  });
});

/** `core/money/redis/store.ts` -> `money`. */
function roomOf(path: string): string {
  const [top = "", room = "", ...rest] = path.split("/");
  return top === "core" && rest.length > 0 ? room : "";
}

/** The nodes of one cycle in order, with the first one again at the end; empty if there is none. */
function findRing(nodes: readonly string[], next: (node: string) => readonly string[]): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] => {
    const at = path.indexOf(node);
    if (at >= 0) return [...path.slice(at), node];
    if (done.has(node)) return [];
    path.push(node);
    for (const to of new Set(next(node))) {
      if (to === node || !nodes.includes(to)) continue;
      const ring = visit(to);
      if (ring.length > 0) return ring;
    }
    path.pop();
    done.add(node);
    return [];
  };
  for (const node of nodes) {
    const ring = visit(node);
    if (ring.length > 0) return ring;
  }
  return [];
}
