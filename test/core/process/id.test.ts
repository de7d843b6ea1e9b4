import t from "tap";
import { newId } from "../../../core/process/id.ts";

t.test("an id is a UUID version 7 that begins with its time", async (t) => {
  const now = Date.UTC(2025, 5, 15, 12);
  for (let n = 0; n < 2_000; n += 1) {
    const id = newId(now);
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    t.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), now);
  }
});

t.test("ids of one millisecond differ, even across refills of the random pool", async (t) => {
  const ids = new Set(Array.from({ length: 20_000 }, () => newId(1_750_000_000_000)));
  t.equal(ids.size, 20_000);
});

t.test("later ids sort after earlier ones", async (t) => {
  const ids = Array.from({ length: 200 }, (_, n) => newId(1_750_000_000_000 + n));
  t.strictSame([...ids].sort(), ids);
});

t.test("all random digits vary", async (t) => {
  const ids = Array.from({ length: 500 }, () => newId(1));
  const fixed = new Set([8, 13, 18, 23, 14]);
  for (let at = 13; at < 36; at += 1) {
    if (fixed.has(at)) continue;
    const seen = new Set(ids.map((id) => id[at]));
    t.ok(seen.size >= (at === 19 ? 4 : 12), `digit ${at}: ${[...seen].join("")}`);
  }
});
