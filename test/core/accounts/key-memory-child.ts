import { createHash, randomBytes, randomUUID } from "node:crypto";
import { keyRowsOf } from "../../../core/accounts/key-rows.ts";
import { KeyCache } from "../../../core/accounts/keys.ts";

const KEYS = 20_000;
const CACHE_BYTES_MAX = 4_000_000;

/** Returns rows as the Postgres client does: texts and bytes are new for each row. */
const rows = keyRowsOf({
  async query<Row extends object>() {
    const row: Record<string, unknown> = {};
    row["id"] = Buffer.from(randomUUID()).toString();
    row["accountId"] = Buffer.from(randomUUID()).toString();
    row["name"] = `key ${randomBytes(4).toString("hex")}`;
    row["hash"] = Buffer.from(randomBytes(32).toString("hex"), "hex");
    row["status"] = Buffer.from("active").toString();
    row["requestsPerMinute"] = null;
    row["limits"] = null;
    row["accountStatus"] = Buffer.from("active").toString();
    row["discountBps"] = 0;
    row["creditVersion"] = 3;
    return [row] as Row[];
  },
});

async function fill(cache: KeyCache, keys: number): Promise<void> {
  for (let n = 0; n < keys; n += 1) {
    const name = createHash("sha256").update(String(n)).digest("hex");
    const key = await rows.byHash(name);
    if (!key) throw new Error("no row");
    const known = { key: Object.assign(key, { discounts: [] }), readAtMs: 1.5, refreshAtMs: 2.5 };
    cache.set(name, known);
  }
}

function used(): number {
  global.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

await fill(new KeyCache(1_000_000), 1_000);
const before = used();
const all = new KeyCache(1_000_000_000);
await fill(all, KEYS);
const measured = (used() - before) / all.keys;
const full = new KeyCache(CACHE_BYTES_MAX);
await fill(full, KEYS);
console.log(JSON.stringify({ measured, accounted: CACHE_BYTES_MAX / full.keys }));
