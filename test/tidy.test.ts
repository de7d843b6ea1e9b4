import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import t from "tap";
import { packageRoot } from "../core/process/root.ts";
import { filesBelow } from "./support/files.ts";
import { circlesIn, importsBetween, importsOf } from "./support/imports.ts";

const LINES_MAX = 600;
/** A longer file gives its reason in a comment of these words, among its first lines. */
const REASON = /over 600 lines because /;
const HEAD_LINES = 60;
const SOURCES = ["core", "plugins", "bench"];
/** Rooms whose code runs for each call. */
const SERVING = [
  ...["core/body", "core/http", "core/sse", "core/upstream", "core/wire"],
  ...["alias", "auth", "meter", "rate-limit", "settle", "translate"].map(
    (name) => `plugins/${name}`,
  ),
];

/** The only file of core that plugins may import. */
const PLUGIN_DOOR = "core/plugin/index.ts";
/** Rooms that plugins share. */
const PARTS = /^plugins\/(?:page|sign-in)-parts\//;
/** Names of the plugin door. Outside plugins must learn them, so a new one takes the place of another. */
const PLUGIN_DOOR_NAMES_MAX = 120;
/** Files whose types name each other, which no newcomer can read one by one. */
const FILES_IN_CIRCLES_OF_TYPES_MAX = 2;
/** Imports of core and plugins that go past the door of a room, its \`index.ts\`. 0 for all other rooms. */
const PAST_DOORS_MAX: Readonly<Record<string, number>> = {
  // Core is behind the door of the contract too: it is for plugins.
  "core/plugin": Number.POSITIVE_INFINITY,
  // The table of protocols names the edits of each, and the door reads that table.
  "plugins/translate/edits": 5,
};

const read = (file: string) => readFileSync(join(packageRoot, file), "utf8");
const lengthOf = (file: string) => read(file).split("\n").length - 1;
const sources = SOURCES.flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
const product = sources.filter((file) => !file.startsWith("bench/"));
const imports = importsOf(sources, false);
/** The two upper folders of a file: `core/http`, `plugins/meter`. */
const roomOf = (file: string) => dirname(file).split("/").slice(0, 2).join("/");

t.test("the sources", async (t) => {
  t.test("are there", async (t) => {
    t.ok(sources.length > 100, `${sources.length} files`);
  });

  t.test(
    `have at most ${LINES_MAX} lines a file, or say in their head why they have more`,
    async (t) => {
      const long = sources.filter((file) => lengthOf(file) > LINES_MAX);
      const head = (file: string) => read(file).split("\n").slice(0, HEAD_LINES).join("\n");
      t.strictSame(
        long.filter((file) => !REASON.test(head(file))),
        [],
        "split it, or write `over 300 lines because …` into the comment at its head",
      );
    },
  );

  t.test("load each other in no circle", async (t) => {
    t.strictSame(circlesIn(importsOf(sources, true)), []);
    const between = importsBetween(imports, roomOf);
    t.ok(between.size > 30, `${between.size} rooms`);
    t.strictSame(circlesIn(between), [], "rooms, by types too");
  });

  t.test("name each other's types in few circles", async (t) => {
    const circles = circlesIn(imports);
    t.ok(circles.flat().length <= FILES_IN_CIRCLES_OF_TYPES_MAX, circles.join("\n"));
  });

  t.test("make no object literal with a getter while they serve a call", async (t) => {
    const serving = sources.filter((file) => SERVING.some((room) => file.startsWith(`${room}/`)));
    t.ok(serving.length > 100, `${serving.length} files`);
    // The getters of classes are indented less.
    const withGetter = serving.filter((file) =>
      /^ {4,}get \w+\(\)|[{,] get \w+\(\)/m.test(read(file)),
    );
    t.strictSame(
      withGetter,
      [],
      "V8 keeps all that such a literal refers to until a full collection",
    );
  });

  t.test("enter a room by its door, if it has one", async (t) => {
    const doors = sources.filter((file) => basename(file) === "index.ts");
    t.ok(doors.length > 15, `${doors.length} doors`);
    for (const door of doors) {
      const room = dirname(door);
      const past = product
        .filter((file) => !file.startsWith(`${room}/`))
        .flatMap((file) => [...(imports.get(file) ?? [])].map((target) => [file, target] as const))
        .filter(([, target]) => target.startsWith(`${room}/`) && target !== door);
      const most = PAST_DOORS_MAX[room] ?? 0;
      t.ok(past.length <= most, `${past.length} past ${door}:\n${past.slice(0, 20).join("\n")}`);
    }
  });

  t.test(
    "let plugins into core by one door, and into each other only for parts of pages",
    async (t) => {
      const plugins = product.filter((file) => file.startsWith("plugins/"));
      const strays = plugins.flatMap((file) =>
        [...(imports.get(file) ?? [])]
          .filter((target) => target !== PLUGIN_DOOR && !PARTS.test(target))
          .filter((target) => roomOf(target) !== roomOf(file))
          .map((target) => `${file} imports ${target}`),
      );
      t.strictSame(strays, []);
      const lists = read(PLUGIN_DOOR).matchAll(/^export (?:type )?\{([^}]*)\}/gms);
      const names = Array.from(lists, ([, list = ""]) => list.split(",")).flat();
      const count = names.filter((name) => name.trim() !== "").length;
      t.ok(count > 0 && count <= PLUGIN_DOOR_NAMES_MAX, `the door has ${count} names`);
      t.notMatch(read(PLUGIN_DOOR), /^export \*/m, "each name is listed");
    },
  );

  t.test(
    "load no store, upstream or server of calls by that door: threads load it too",
    async (t) => {
      const loads = importsOf(product, true);
      const loaded = new Set([PLUGIN_DOOR]);
      for (const file of loaded) for (const target of loads.get(file) ?? []) loaded.add(target);
      t.ok(loaded.size > 20, `${loaded.size} files`);
      const heavy = /^core\/(?:accounts|boot|config|database|http|limits|redis|upstream)\//;
      t.strictSame(
        [...loaded].filter((file) => heavy.test(file)),
        [],
      );
    },
  );

  t.test("stand in rooms: only main.ts is at the root of core", async (t) => {
    const atRoot = sources.filter((file) => /^core\/[^/]+$/.test(file));
    t.strictSame(atRoot, ["core/main.ts"], "put it into the room that it belongs to");
  });

  t.test("leave nothing for later", async (t) => {
    const marked = sources.filter((file) => /\b(?:TODO|FIXME|HACK)\b/.test(read(file)));
    t.strictSame(marked, []);
  });

  t.test("say what everything is", async (t) => {
    const loose = sources.filter((file) =>
      /(?:: |<|\bas )any\b(?! )|@ts-(?:ignore|nocheck)/.test(read(file)),
    );
    t.strictSame(loose, []);
  });

  t.test("have names in kebab-case", async (t) => {
    const files = [...SOURCES, "test"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
    const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.d)?\.ts$/;
    t.strictSame(
      files.filter((file) => !kebab.test(basename(file))),
      [],
    );
    const vague = /\/(?:utils?|helpers?|managers?|common|misc)[./]/;
    t.strictSame(
      files.filter((file) => vague.test(file)),
      [],
    );
  });
});

t.test("the pages of the repository link to files that exist", async (t) => {
  const folders = [...SOURCES, "config", "test"];
  const pages = [
    "README.md",
    ...folders.flatMap(filesBelow).filter((file) => file.endsWith(".md")),
  ];
  t.ok(pages.length > 20, `${pages.length} pages`);
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([\w./-]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => join(dirname(page), target))
      .filter((target) => !existsSync(join(packageRoot, target)))
      .map((target) => `${page} links to ${target}`),
  );
  t.strictSame(dead, []);
});
