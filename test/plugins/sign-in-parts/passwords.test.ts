import t from "tap";
import { Passwords } from "../../../plugins/sign-in-parts/passwords.ts";

const PASSWORD = "correct horse battery";

t.test("passwords", async (t) => {
  const passwords = new Passwords();

  t.test("are hashed with argon2id and OWASP's parameters, each with its own salt", async (t) => {
    const [one, two] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);
    for (const hash of [one, two]) t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    t.not(one, two);
    t.equal(await passwords.check(PASSWORD, one), true);
    t.equal(await passwords.check(`${PASSWORD}.`, one), false);
  });

  t.test("match in any Unicode form of the same letters", async (t) => {
    const hash = await passwords.hash("mật khẩu tiếng Việt".normalize("NFC"));
    t.equal(await passwords.check("mật khẩu tiếng Việt".normalize("NFD"), hash), true);
  });

  t.test("match nothing if no hash is stored", async (t) => {
    t.equal(await passwords.check(PASSWORD, undefined), false);
  });

  t.test("are hashed a few at a time; beyond a limit they are refused at once", async (t) => {
    // Those of customers and of operators share the threads.
    const others = new Passwords();
    const flood = Array.from({ length: 200 }, (_, n) =>
      n % 2 ? others.hash(PASSWORD) : passwords.check(PASSWORD, undefined),
    );
    // A refusal does not wait for the hashes before it.
    const first = await Promise.race(flood.map(async (one, n) => ({ n, result: await one })));
    t.equal(first.result, "busy");
    const results = await Promise.all(flood);
    t.equal(results.filter((result) => result === "busy").length, 200 - 66);
    // Finished hashes make room again.
    t.not(await passwords.hash(PASSWORD), "busy");
  });
});
