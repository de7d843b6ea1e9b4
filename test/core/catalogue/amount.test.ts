import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { formatVnd, parseVnd } from "../../../core/catalogue/amount.ts";

t.test("amounts are formatted as decimals without trailing zeros", async (t) => {
  for (const [micro, text] of [
    [0n, "0"],
    [1n, "0.000001"],
    [1_500_000n, "1.5"],
    [-1_500_000n, "-1.5"],
    [-1n, "-0.000001"],
    [1_001_000n, "1.0010"],
    [-62_856_000n, "-62.8560"],
    [856_000n, "0.856"],
    [1_000_001_000n, "1000.001"],
    [50_000_000_000n, "50000"],
    [9_007_199_254_740_991n, "9007199254.740991"],
  ] as const) {
    t.equal(formatVnd(micro), text);
    t.equal(parseVnd(text), micro);
  }
  t.equal(formatVnd(1_500_000), "1.5");
});

t.test("a formatted amount parses to the same value", async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }), (micro) => {
      assert.equal(parseVnd(formatVnd(micro)), micro);
    }),
  );
});

t.test("only decimals of at most six places are amounts", async (t) => {
  for (const text of [
    "",
    "-",
    ".",
    ".5",
    "5.",
    "1.1234567",
    "1e3",
    "0x10",
    "+5",
    " 5",
    "5 ",
    "1,000",
    "1 000",
    "NaN",
    "--1",
    "1.-5",
    "5\n",
    "٣",
    "1234567890123",
  ]) {
    t.equal(parseVnd(text), undefined, JSON.stringify(text));
  }
});
