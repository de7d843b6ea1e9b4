import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../../core/process/id.ts";

test("an id is a UUID of version 7 that begins with its time", () => {
  const now = Date.UTC(2025, 5, 15, 12);
  for (let n = 0; n < 2_000; n += 1) {
    const id = newId(now);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), now);
  }
});

test("ids of one millisecond differ, also over the refills of the random pool", () => {
  const ids = new Set(Array.from({ length: 20_000 }, () => newId(1_750_000_000_000)));
  assert.equal(ids.size, 20_000);
});

test("later ids sort after earlier ones", () => {
  const ids = Array.from({ length: 200 }, (_, n) => newId(1_750_000_000_000 + n));
  assert.deepEqual([...ids].sort(), ids);
});

test("every random digit varies", () => {
  const ids = Array.from({ length: 500 }, () => newId(1));
  const fixed = new Set([8, 13, 18, 23, 14]);
  for (let at = 13; at < 36; at += 1) {
    if (fixed.has(at)) continue;
    const seen = new Set(ids.map((id) => id[at]));
    assert.ok(seen.size >= (at === 19 ? 4 : 12), `digit ${at}: ${[...seen].join("")}`);
  }
});
