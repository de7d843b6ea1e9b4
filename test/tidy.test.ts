import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { describe, it } from "node:test";
import { packageRoot } from "../core/process/root.ts";

const LINES_MAX = 300;
/** Files that are still too long. Whoever shortens one deletes it here; none may be added. */
const STILL_TOO_LONG = new Set<string>();
const SOURCES = ["core", "plugins", "bench"];

function filesBelow(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file).split(sep).join("/"))
    .filter((file) => statSync(join(packageRoot, file)).isFile());
}

const read = (file: string) => readFileSync(join(packageRoot, file), "utf8");
const sources = SOURCES.flatMap(filesBelow).filter((file) => file.endsWith(".ts"));

describe("the sources", () => {
  it("are there", () => {
    assert.ok(sources.length > 100, `${sources.length} files`);
  });

  it(`have at most ${LINES_MAX} lines a file`, () => {
    const long = sources.filter((file) => read(file).split("\n").length - 1 > LINES_MAX);
    assert.deepEqual(
      long.filter((file) => !STILL_TOO_LONG.has(file)),
      [],
    );
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
