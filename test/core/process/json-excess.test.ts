import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { excessOf } from "../../../core/process/json-scan.ts";

const nestsDeeperThan = (levels: number, bytes: Buffer) =>
  excessOf(bytes, levels, Number.POSITIVE_INFINITY) === "levels";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const text = (json: unknown, space?: number) => Buffer.from(JSON.stringify(json, null, space));

t.test("the depth of a JSON text", async (t) => {
  t.test("equals that of a parser, for any content of strings", async () => {
    const anything = fc.anything({
      key: fc.string({ unit: fc.constantFrom('"', "\\", "[", "]", "{", "}", "a", "đ") }),
      values: [
        fc.string({ unit: fc.constantFrom('"', "\\", "[", "]", "{", "}", "é") }),
        fc.integer(),
      ],
      maxDepth: 6,
    });
    fc.assert(
      fc.property(fc.array(anything), fc.constantFrom(0, 2), (value, space) => {
        const depth = depthOf(JSON.parse(JSON.stringify(value)));
        const bytes = text(value, space);
        assert.equal(nestsDeeperThan(depth, bytes), false);
        assert.equal(nestsDeeperThan(depth - 1, bytes), true);
      }),
    );
  });

  t.test("counts levels, not brackets", async (t) => {
    t.equal(nestsDeeperThan(2, text(Array(1000).fill([]))), false);
  });

  t.test("is found in 20 MB of brackets before their end", async (t) => {
    t.equal(nestsDeeperThan(200, Buffer.alloc(20_000_000, "[")), true);
  });

  t.test("does not count an unterminated string", async (t) => {
    for (const broken of ['"', '"\\', '"\\"', '{"a', `"${"\\".repeat(1_000_001)}"`]) {
      t.equal(nestsDeeperThan(200, Buffer.from(broken)), false);
    }
  });
});

t.test("the values of a JSON text", async (t) => {
  /**
   * Every value, and every name of an object. An empty list or object counts twice: as a value, and as a bracket. A number
   * before a comma counts a quarter.
   */
  const valuesOf = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 1;
    const parts = Object.values(value);
    if (parts.length === 0) return 2;
    const names = Array.isArray(value) ? 0 : parts.length;
    const isBeforeComma = (at: number) => at < parts.length - 1;
    return parts.reduce((sum: number, one, at) => {
      return sum + (typeof one === "number" && isBeforeComma(at) ? 1 / 4 : valuesOf(one));
    }, 1 + names);
  };

  t.test("are counted, apart from the outermost", async () => {
    const emptyAndFull = fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.array(fc.constant({})));
    fc.assert(
      fc.property(emptyAndFull, (value) => {
        const bytes = text([value]);
        const count = valuesOf(JSON.parse(bytes.toString())) - 1;
        assert.equal(excessOf(bytes, 100, count), undefined);
        assert.equal(excessOf(bytes, 100, count - 1), "values");
      }),
    );
  });

  t.test("are not counted in strings", async (t) => {
    t.equal(excessOf(text([",".repeat(1000), "[:{"]), 200, 4), undefined);
  });

  for (const [what, value] of [
    ["numbers", "0,"],
    ["empty objects", "{},"],
    ["names", '"k":0,'],
  ] as const) {
    t.test(`are too many in 20 MB of ${what}`, async (t) => {
      t.equal(excessOf(Buffer.alloc(20_000_000, value)), "values");
    });
  }
});
