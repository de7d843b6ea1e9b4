import t from "tap";
import { bytesOfBase32, randomBase32 } from "../../../plugins/sign-in-parts/base32.ts";
import { codeAt, newTotpSecret, stepOf, totpUri } from "../../../plugins/sign-in-parts/totp.ts";

/** The key of RFC 6238, appendix B, `12345678901234567890`, in base32. */
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const STEP_MS = 30_000;

t.test("the codes of RFC 6238, appendix B", async (t) => {
  // The appendix has eight digits, of which six are the end.
  for (const [seconds, code] of [
    [59, "94287082"],
    [1111111109, "07081804"],
    [1111111111, "14050471"],
    [1234567890, "89005924"],
    [2000000000, "69279037"],
    [20000000000, "65353130"],
  ] as const) {
    t.equal(codeAt(SECRET, Math.floor(seconds / 30)), code.slice(-6), `${seconds}`);
  }
});

t.test("a code counts in its step, the one before and the one after", async (t) => {
  const now = 1_234_567_890_000;
  const step = Math.floor(now / STEP_MS);
  for (const aside of [-1, 0, 1]) {
    t.equal(stepOf(SECRET, codeAt(SECRET, step + aside), now), step + aside);
  }
  for (const aside of [-2, 2, 100]) {
    t.equal(stepOf(SECRET, codeAt(SECRET, step + aside), now), undefined, `${aside}`);
  }
});

t.test("what is no code is wrong", async (t) => {
  const now = 1_234_567_890_000;
  const code = codeAt(SECRET, Math.floor(now / STEP_MS));
  for (const wrong of ["", code.slice(1), `${code}0`, ` ${code}`, "é".repeat(6), "日本語日本語"]) {
    t.equal(stepOf(SECRET, wrong, now), undefined, wrong);
  }
});

t.test("base32", async (t) => {
  // RFC 4648, section 10, without padding.
  for (const [text, decoded] of [
    ["", ""],
    ["MY", "f"],
    ["MZXQ", "fo"],
    ["MZXW6", "foo"],
    ["MZXW6YQ", "foob"],
    ["MZXW6YTB", "fooba"],
    ["MZXW6YTBOI", "foobar"],
  ] as const) {
    t.equal(bytesOfBase32(text).toString(), decoded);
  }
  t.throws(() => bytesOfBase32("MZ1"), /not base32/);
  t.match(randomBase32(40), /^[A-Z2-7]{40}$/);
  t.not(randomBase32(40), randomBase32(40));
});

t.test("the address for an authenticator app names the gateway and the customer", async (t) => {
  t.equal(bytesOfBase32(newTotpSecret()).length, 20);
  t.equal(
    totpUri(SECRET, "api.example.com", "an+1@example.com"),
    `otpauth://totp/api.example.com:an%2B1%40example.com?secret=${SECRET}&issuer=api.example.com&algorithm=SHA1&digits=6&period=30`,
  );
});
