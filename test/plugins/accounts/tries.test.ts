import t from "tap";
import { codeTriesOf } from "../../../plugins/accounts/tries.ts";

t.test("codes have a total of their own, for strangers and for all known browsers", async (t) => {
  const strangers = codeTriesOf([
    ["password", "203.0.113.7 a@b.test"],
    ["account", "a@b.test"],
  ]);
  t.strictSame(strangers, [
    ["password", "code 203.0.113.7 a@b.test"],
    ["code", "a@b.test"],
  ]);
  t.strictSame(codeTriesOf([["device", "d1 a@b.test"]]), [
    ["device", "code d1 a@b.test"],
    ["code", "devices a@b.test"],
  ]);
});
