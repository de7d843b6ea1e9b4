import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Passwords } from "../../../plugins/accounts/passwords.ts";

const PASSWORD = "correct horse battery";

describe("passwords", () => {
  const passwords = new Passwords();

  it("are hashed by argon2id as OWASP says, each with a salt of its own", async () => {
    const [one, two] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);
    for (const hash of [one, two]) assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.notEqual(one, two);
    assert.equal(await passwords.check(PASSWORD, one), true);
    assert.equal(await passwords.check(`${PASSWORD}.`, one), false);
  });

  it("are the same however their letters are typed", async () => {
    const hash = await passwords.hash("mật khẩu tiếng Việt".normalize("NFC"));
    assert.equal(await passwords.check("mật khẩu tiếng Việt".normalize("NFD"), hash), true);
  });

  it("match nothing where there is nothing to match", async () => {
    assert.equal(await passwords.check(PASSWORD, undefined), false);
  });

  it("are hashed a few at a time, and a flood is turned away at once", async () => {
    const flood = Array.from({ length: 200 }, (_, n) =>
      n % 2 ? passwords.hash(PASSWORD) : passwords.check(PASSWORD, undefined),
    );
    // Whoever is turned away does not wait for those before it.
    const first = await Promise.race(flood.map(async (one, n) => ({ n, result: await one })));
    assert.equal(first.result, "busy");
    const results = await Promise.all(flood);
    assert.equal(results.filter((result) => result === "busy").length, 200 - 66);
    // Places are given back.
    assert.notEqual(await passwords.hash(PASSWORD), "busy");
  });
});
