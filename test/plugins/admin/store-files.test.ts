import t from "tap";
import { storeFiles } from "../../../plugins/admin/cli/store-files.ts";

function linesFor(REDIS_URL: string, DATABASE_URL = ""): (string | undefined)[] {
  const files = storeFiles(new Map(Object.entries({ REDIS_URL, DATABASE_URL })));
  return files.map(({ changes }) => changes?.map(([, here]) => here).join("\n"));
}

const PORT = "bind 127.0.0.1 -::1\nport";

t.test("the files have the passwords that a gateway sends", async (t) => {
  t.strictSame(
    linesFor("redis://default:p%40s^s@127.0.0.1", "postgres://tollgate:p%40%27^s@[::1]/tollgate"),
    [`requirepass p@s^s\n${PORT} 6379`, "'p@''^s'"],
  );
  t.strictSame(linesFor("redis://:a%20%22b%22%5C@localhost:6380"), [
    `requirepass "a \\"b\\"\\\\"\n${PORT} 6380`,
  ]);
});

t.test("a Redis without a password gets no line without one, which it refuses", async (t) => {
  t.strictSame(linesFor("redis://127.0.0.1:6379"), [`# requirepass PASSWORD\n${PORT} 6379`]);
});

t.test("no file is for an operator's own user, database or form of a password", async (t) => {
  for (const [redis, postgres] of [
    ["redis://tollgate:p@127.0.0.1:6379", "postgres://other:p@127.0.0.1:5432/tollgate"],
    ["rediss://default:p@127.0.0.1:6379", "postgres://tollgate:p@127.0.0.1:5432/other"],
    ["redis://:p%0Ax@127.0.0.1:6379", "postgres://tollgate@127.0.0.1/tollgate"],
    ["redis://:p%ff@127.0.0.1:6379", "postgres://tollgate:p%ff@127.0.0.1/tollgate"],
  ] as const) {
    t.strictSame(linesFor(redis, postgres), [undefined, undefined], redis);
  }
});

t.test("a server elsewhere is not this machine's to set up", async (t) => {
  t.strictSame(linesFor("redis://:p@10.0.0.2", "postgres://tollgate:p@db/tollgate"), []);
});
