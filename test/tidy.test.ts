import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import t from "tap";
import { packageRoot } from "../core/process/root.ts";
import { filesBelow } from "./support/files.ts";

const LINES_MAX = 300;
/** A longer file gives its reason in a comment of these words, among its first lines. */
const REASON = /over 300 lines because /;
const HEAD_LINES = 60;
const MEDIAN_LINES_MAX = 120;
const SOURCES = ["core", "plugins", "bench"];

const read = (file: string) => readFileSync(join(packageRoot, file), "utf8");
const lengthOf = (file: string) => read(file).split("\n").length - 1;
const sources = SOURCES.flatMap(filesBelow).filter((file) => file.endsWith(".ts"));

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

  t.test(
    `have at most ${MEDIAN_LINES_MAX} lines in the median file of core and plugins`,
    async (t) => {
      const product = sources.filter((file) => !file.startsWith("bench/"));
      const lengths = product.map(lengthOf).sort((one, other) => one - other);
      const median = lengths[lengths.length >> 1] ?? 0;
      t.ok(median <= MEDIAN_LINES_MAX, `the median file has ${median} lines`);
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
