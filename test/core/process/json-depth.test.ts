import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { nestsDeeperThan } from "../../../core/process/json.ts";

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
