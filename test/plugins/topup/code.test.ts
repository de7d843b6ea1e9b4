import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { codesIn, codesNear, newCode } from "../../../plugins/topup/code.ts";

t.test("codes start with the prefix, use no ambiguous characters, and do not repeat", async (t) => {
  const codes = Array.from({ length: 2_000 }, () => newCode("TG"));
  for (const code of codes) t.match(code, /^TG[34679ACDEFGHJKMNPQRTUVWXY]{8}$/);
  t.equal(new Set(codes).size, codes.length);
  const used = new Set(codes.flatMap((code) => [...code.slice(2)]));
  t.equal(used.size, 25, "every character is used");
});

const CONTENTS: readonly (readonly [content: string, found: readonly string[]])[] = [
  ["TGACDE3467", ["TGACDE3467"]],
  ["tgacde3467", ["TGACDE3467"]],
  ["  Tg acde-3467 ", ["TGACDE3467"]],
  ["TG.ACDE.3467", ["TGACDE3467"]],
  ["T G A C D E 3 4 6 7", ["TGACDE3467"]],
  ["MBVCB.3278907687.TGACDE3467.CT tu 0123 toi 0456", ["TGACDE3467"]],
  ["NGUYEN VAN A nap tien TGACDE3467FT26325XXXX", ["TGACDE3467"]],
  ["nạp tiền tgacde3467 cảm ơn", ["TGACDE3467"]],
  ["ＴＧＡＣＤＥ３４６７", ["TGACDE3467"]],
  ["TGACDE3467 TGACDE3469", ["TGACDE3467", "TGACDE3469"]],
  ["TGACDE3467 TGACDE3467", ["TGACDE3467"]],
  ["TGTGACDE3467", ["TGTGACDE34", "TGACDE3467"]],
  ["TGACDE346", []],
  ["TGACDE3460", []],
  ["ACDE3467", []],
  ["", []],
];

t.test("codes are found even if a bank has changed the text", async (t) => {
  for (const [content, found] of CONTENTS) t.strictSame(codesIn([content], "TG"), found, content);
});

t.test("all texts of a notification are read, up to a limit", async (t) => {
  t.strictSame(codesIn(["", "TGACDE3467", "x TGACDE3467"], "TG"), ["TGACDE3467"]);
  const long = "TGAC".repeat(1_000_000);
  t.ok(codesIn([long], "TG").length < 1_000);
});

t.test("property: a code is found in any case, with separators and text around it", async () => {
  const separator = fc.stringMatching(/^[ .,_/:;|+*-]{0,3}$/);
  const around = fc.string({ maxLength: 60 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), separator), { minLength: 10, maxLength: 10 }),
      around,
      around,
      (mangling, before, after) => {
        const code = newCode("TG");
        const mangled = [...code]
          .map((character, at) => {
            const [isLower, between] = mangling[at] ?? [false, ""];
            return (isLower ? character.toLowerCase() : character) + between;
          })
          .join("");
        assert.ok(codesIn([`${before} ${mangled} ${after}`], "TG").includes(code));
      },
    ),
    { numRuns: 2_000 },
  );
});

t.test("property: a code with one mistake is among the near ones", async (t) => {
  const letter = fc.constantFrom(..."34679ACDEFGHJKMNPQRTUVWXY0OIL");
  const mistake = fc.constantFrom("another", "more", "less", "swapped");
  fc.assert(
    fc.property(letter, mistake, fc.integer({ min: 2, max: 9 }), (wrong, kind, at) => {
      const code = newCode("TG");
      const [before, after] = [code.slice(0, at), code.slice(at + 1)];
      const typed = {
        another: before + wrong + after,
        more: before + wrong + code.slice(at),
        less: before + after,
        swapped: before + after.slice(0, 1) + code[at] + after.slice(1),
      }[kind];
      assert.ok(codesNear(`MB 0123 ${typed} chuyen tien`, "TG").includes(code), typed);
    }),
    { numRuns: 1_000 },
  );
  t.ok(codesNear("TG".repeat(1_000), "TG").length < 50_000);
  t.strictSame(codesNear("thank you", "TG"), []);
});
