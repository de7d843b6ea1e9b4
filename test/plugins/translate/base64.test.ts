import fc from "fast-check";
import t from "tap";
import { base64Bytes } from "../../../plugins/translate/base64.ts";

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

t.test("base64 of images", async (t) => {
  t.test("is what a regular expression takes without its white space", async (t) => {
    const characters = fc.constantFrom(..."ABab01+/-_=", " ", "\n", "\r\n", "é", "!", "\u0000");
    const texts = fc.oneof(
      fc.array(characters, { maxLength: 24 }).map((all) => all.join("")),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("base64")),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const stripped = text.replace(/\s/g, "");
        const expected = BASE64.test(stripped) ? Buffer.from(stripped, "base64") : undefined;
        const data = base64Bytes(text);
        return expected === undefined ? data === undefined : data?.equals(expected) === true;
      }),
      { numRuns: 20_000 },
    );
    t.pass();
  });
});
