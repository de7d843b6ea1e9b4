import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { ObjectScanner } from "../../../plugins/translate/arguments.ts";

/** Reads one character after the other. */
function isComplete(text: string): boolean {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let state: "before" | "inside" | "complete" = "before";
  for (const char of text) {
    if (inString) {
      if (!escaped && char === '"') inString = false;
      escaped = !escaped && char === "\\";
    } else if (state !== "inside") {
      if (" \n\r\t".includes(char)) continue;
      if (state === "complete" || char !== "{") return false;
      state = "inside";
      depth = 1;
    } else if (char === '"') inString = true;
    else if ("{[".includes(char)) depth += 1;
    else if ("}]".includes(char)) {
      depth -= 1;
      if (depth === 0) state = "complete";
    }
  }
  return state === "complete";
}

t.test(
  "the end of an object is found in any pieces as in one character after the other",
  async () => {
    const piece = fc
      .array(fc.constantFrom("{", "}", "[", "]", '"', '"', "\\", "\\", " ", ":", "a"), {
        maxLength: 12,
      })
      .map((chars) => chars.join(""));
    fc.assert(
      fc.property(fc.boolean(), fc.array(piece, { maxLength: 8 }), (begins, pieces) => {
        const scanner = new ObjectScanner();
        let text = "";
        for (const next of begins ? ["{", ...pieces] : pieces) {
          scanner.push(next);
          text += next;
          assert.equal(scanner.complete, isComplete(text), JSON.stringify(text));
        }
      }),
      { numRuns: 20_000 },
    );
  },
);
