import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { describe, it } from "node:test";
import { packageRoot } from "../core/process/root.ts";

const LINES_MAX = 300;
/** A longer file gives its reason in a comment of these words, among its first lines. */
const REASON = /over 300 lines because /;
const HEAD_LINES = 60;
const MEDIAN_LINES_MAX = 120;
const SOURCES = ["core", "plugins", "bench"];

function filesBelow(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file).split(sep).join("/"))
    .filter((file) => statSync(join(packageRoot, file)).isFile());
}

const read = (file: string) => readFileSync(join(packageRoot, file), "utf8");
const lengthOf = (file: string) => read(file).split("\n").length - 1;
const sources = SOURCES.flatMap(filesBelow).filter((file) => file.endsWith(".ts"));

describe("the sources", () => {
  it("are there", () => {
    assert.ok(sources.length > 100, `${sources.length} files`);
  });

  it(`have at most ${LINES_MAX} lines a file, or say in their head why they have more`, () => {
    const long = sources.filter((file) => lengthOf(file) > LINES_MAX);
    const head = (file: string) => read(file).split("\n").slice(0, HEAD_LINES).join("\n");
    assert.deepEqual(
      long.filter((file) => !REASON.test(head(file))),
      [],
      "split it, or write `over 300 lines because …` into the comment at its head",
    );
  });

  it(`have at most ${MEDIAN_LINES_MAX} lines in the median file of core and plugins`, () => {
    const product = sources.filter((file) => !file.startsWith("bench/"));
    const lengths = product.map(lengthOf).sort((one, other) => one - other);
    const median = lengths[lengths.length >> 1] ?? 0;
    assert.ok(median <= MEDIAN_LINES_MAX, `the median file has ${median} lines`);
  });

  it("stand in rooms: only main.ts is at the root of core", () => {
    const atRoot = sources.filter((file) => /^core\/[^/]+$/.test(file));
    assert.deepEqual(atRoot, ["core/main.ts"], "put it into the room that it belongs to");
  });

  it("leave nothing for later", () => {
    const marked = sources.filter((file) => /\b(?:TODO|FIXME|HACK)\b/.test(read(file)));
    assert.deepEqual(marked, []);
  });

  it("say what everything is", () => {
    const loose = sources.filter((file) =>
      /(?:: |<|\bas )any\b(?! )|@ts-(?:ignore|nocheck)/.test(read(file)),
    );
    assert.deepEqual(loose, []);
  });

  it("have names in kebab-case", () => {
    const files = [...SOURCES, "test"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
    const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.d)?\.ts$/;
    assert.deepEqual(
      files.filter((file) => !kebab.test(basename(file))),
      [],
    );
    const vague = /\/(?:utils?|helpers?|managers?|common|misc)[./]/;
    assert.deepEqual(
      files.filter((file) => vague.test(file)),
      [],
    );
  });
});
