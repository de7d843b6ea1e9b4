import assert from "node:assert/strict";
import t from "tap";
import {
  ALICE,
  BOB,
  KEY,
  keyId,
  NOON,
  record,
  startUsageWorld,
  type UsageWorld,
} from "./usage-fixtures.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

t.test("usage of a customer", async (t) => {
  let world: UsageWorld;
  t.before(async () => {
    world = await startUsageWorld();
  });
  t.teardown(() => world.close());

  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects.
  async function json(path: string, query: Record<string, string> = {}, who = ALICE): Promise<any> {
    const response = await world.as(who, path, query);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  }

  async function ids(query: Record<string, string>): Promise<string[]> {
    const { data } = await json("/usage", query);
    return data.map((call: { call_id: string }) => call.call_id);
  }

  t.test("requires a session", async (t) => {
    for (const path of ["/usage", "/usage/summary", "/usage.csv", `/calls/${KEY}`]) {
      t.equal((await world.as(undefined, path, { by: "day" })).status, 401, path);
    }
  });

  t.test("lists every figure of a call, and nothing about the provider", async (t) => {
    const id = await record(world.sql, { model: "figures", mappedFrom: "alias", firstByteMs: 321 });
    const [call] = (await json("/usage", { model: "figures" })).data;
    const { at, ...rest } = call;
    t.match(at, /^2026-11-10T05:00:00\.\d{3}Z$/);
    t.strictSame(rest, {
      call_id: id,
      endpoint: "/v1/messages",
      model: "figures",
      mapped_from: "alias",
      key_id: KEY,
      key_name: null,
      status: 200,
      outcome: "complete",
      streamed: true,
      input_tokens: 900,
      output_tokens: 100,
      cache_read_tokens: 100,
      cache_write_tokens: 50,
      reasoning_tokens: 20,
      images: 0,
      cost_vnd: "36",
      written_off_vnd: "0",
      discount_bps: 100,
      latency_ms: 1234.5,
      first_byte_ms: 321,
      estimated: false,
      unit: "mtok",
      unit_price_vnd: "36000",
      quantity: 1_000,
      discounts: null,
      fees_vnd: "0",
      catalogue_version: "0123abcd",
    });
    t.strictSame(await json(`/calls/${id}`), call);
  });

  t.test("is visible to its own account only", async (t) => {
    const mine = await record(world.sql, { model: "shared", keyId: keyId(2) });
    const theirs = await record(world.sql, { model: "shared", keyId: keyId(3), accountId: BOB });
    t.strictSame(await ids({ model: "shared" }), [mine]);
    t.strictSame(await ids({ key: keyId(3) }), []);
    t.strictSame(await ids({ key: keyId(3), model: "shared" }), []);
    t.equal((await world.as(ALICE, `/calls/${theirs}`)).status, 404);
    t.equal((await world.as(BOB, `/calls/${theirs}`)).status, 200);
    const shared = { by: "key", model: "shared", to: "2026-12-31" };
    const sums = (await json("/usage/summary", shared)).data;
    t.strictSame(
      sums.map((sum: { key: string }) => sum.key),
      [keyId(2)],
    );
    const csv = await (await world.as(ALICE, "/usage.csv", { model: "shared" })).text();
    t.ok(csv.includes(mine) && !csv.includes(theirs));
  });

  t.test("can be filtered by model, key and status, alone and combined", async (t) => {
    const wanted = { model: "filtered", keyId: keyId(4) };
    const ok = await record(world.sql, wanted);
    const failed = await record(world.sql, { ...wanted, status: 502, charged: 0 });
    const limited = await record(world.sql, { ...wanted, status: 429, charged: 0 });
    const other = await record(world.sql, { ...wanted, keyId: keyId(5) });
    const key = keyId(4);
    t.strictSame(await ids({ key }), [limited, failed, ok]);
    t.strictSame(await ids({ model: "filtered" }), [other, limited, failed, ok]);
    t.strictSame(await ids({ key, status: "ok" }), [ok]);
    t.strictSame(await ids({ key, status: "failed" }), [limited, failed]);
    t.strictSame(await ids({ key, status: "429" }), [limited]);
    t.strictSame(await ids({ model: "filtered", key: keyId(5) }), [other]);
    t.strictSame(await ids({ model: "filtered", key, status: "failed" }), [limited, failed]);
    t.strictSame(await ids({ model: "filtered", key: keyId(6) }), []);
    t.strictSame(await ids({ model: "filtered", status: "404" }), []);
  });

  t.test("is paged without gaps or repetitions, even for calls in one millisecond", async (t) => {
    const made: string[] = [];
    for (let n = 0; n < 23; n += 1) {
      const status = n % 4 === 0 ? 500 : n % 4 === 1 ? 503 : 200;
      const atMs = NOON + 5 * HOUR_MS + Math.floor(n / 5);
      made.unshift(await record(world.sql, { model: "paged", keyId: keyId(7), atMs, status }));
    }
    const isFailed = (_: string, at: number) => (22 - at) % 4 < 2;
    for (const [query, expected] of [
      [{ model: "paged" }, made],
      [{ key: keyId(7) }, made],
      [{ key: keyId(7), model: "paged" }, made],
      [{ key: keyId(7), status: "failed" }, made.filter(isFailed)],
    ] as const) {
      const seen: string[] = [];
      let before: string | null = null;
      do {
        const given: Record<string, string> = before === null ? {} : { before };
        const page = await json("/usage", { ...query, ...given, limit: "4" });
        seen.push(...page.data.map((call: { call_id: string }) => call.call_id));
        before = page.next;
      } while (before !== null);
      t.strictSame(seen, expected, JSON.stringify(query));
    }
  });

  t.test("has days from midnight to midnight in Vietnam, and includes the last one", async (t) => {
    const midnight = Date.UTC(2026, 9, 4, 17);
    const model = "days";
    await record(world.sql, { model, atMs: midnight - 1 });
    const first = await record(world.sql, { model, atMs: midnight });
    const last = await record(world.sql, { model, atMs: midnight + DAY_MS - 1 });
    await record(world.sql, { model, atMs: midnight + DAY_MS });
    t.strictSame(await ids({ model, from: "2026-10-05", to: "2026-10-05" }), [last, first]);
    const times = { from: "2026-10-04T17:00:00Z", to: "2026-10-05T17:00:00Z" };
    t.strictSame(await ids({ model, ...times }), [last, first]);
    const period = { from: "2026-10-05", to: "2026-10-05" };
    const days = (await json("/usage/summary", { by: "day", model, ...period })).data;
    const sum = { calls: 2, input_tokens: 1800, output_tokens: 200, cost_vnd: "72" };
    t.strictSame(days, [{ day: "2026-10-05", ...sum }]);
  });

  t.test(
    "is summed for a year at most, and by model and key for two weeks, or one by day",
    async (t) => {
      const to = "2026-11-12";
      const fromOf = async (by: string) => (await json("/usage/summary", { by, to })).from;
      t.equal(await fromOf("day"), "2025-11-11T17:00:00.000Z");
      t.equal(await fromOf("day,key"), "2025-11-11T17:00:00.000Z");
      t.equal(await fromOf("model,key"), "2026-10-29T17:00:00.000Z");
      const statusOf = async (by: string, from: string, more = {}) =>
        (await world.as(ALICE, "/usage/summary", { by, from, to, ...more })).status;
      t.equal(await statusOf("day", "2025-11-12"), 200);
      t.equal(await statusOf("day", "2025-11-11"), 400);
      t.equal(await statusOf("model,key", "2026-10-30"), 200);
      t.equal(await statusOf("model,key", "2026-10-29"), 400);
      t.equal(await statusOf("day,model,key", "2026-11-06"), 200);
      t.equal(await statusOf("day,model,key", "2026-11-05"), 400);
      t.equal(await statusOf("model,key", "2025-11-12", { model: "shared" }), 200);
    },
  );

  t.test("is summed by day, model and key, and by combinations", async (t) => {
    const atMs = NOON - 40 * DAY_MS;
    for (const model of ["sum-a", "sum-a", "sum-b"]) {
      await record(world.sql, { model, keyId: keyId(8), atMs, charged: 500_000 });
    }
    await record(world.sql, { model: "sum-a", keyId: keyId(8), atMs: atMs + DAY_MS });
    const key = keyId(8);
    const to = "2026-12-31";
    const rows = async (by: string) => (await json("/usage/summary", { by, key, to })).data;
    const shown = async (by: string) =>
      (await rows(by)).map((sum: Record<string, unknown>) =>
        [sum["day"], sum["model"], sum["key"], sum["calls"], sum["cost_vnd"]].filter(
          (value) => value !== undefined,
        ),
      );
    t.strictSame(await shown("day"), [
      ["2026-10-01", 3, "1.5"],
      ["2026-10-02", 1, "36"],
    ]);
    t.strictSame(await shown("model"), [
      ["sum-a", 3, "37"],
      ["sum-b", 1, "0.5"],
    ]);
    t.strictSame(await shown("key"), [[key, 4, "37.5"]]);
    t.strictSame(await shown("day,model"), [
      ["2026-10-01", "sum-a", 2, "1"],
      ["2026-10-01", "sum-b", 1, "0.5"],
      ["2026-10-02", "sum-a", 1, "36"],
    ]);
  });

  for (const [name, path, query] of [
    ["a period of nonsense", "/usage", { from: "yesterday" }],
    ["a day that there is not", "/usage", { from: "2026-13-45" }],
    ["a key that can be none", "/usage", { key: "' or 1=1 --" }],
    ["a status that can be none", "/usage", { status: "999" }],
    ["a model with a NUL", "/usage", { model: "a\0b" }],
    ["a limit beyond the page's", "/usage", { limit: "201" }],
    ["a limit of zero", "/usage", { limit: "0" }],
    ["a cursor of nonsense", "/usage", { before: "x" }],
    ["a cursor without an id", "/usage", { before: "2026-11-10T05:00:00Z" }],
    ["an unknown field", "/usage", { account: BOB }],
    ["a summary by nothing", "/usage/summary", {}],
    ["a summary by its account", "/usage/summary", { by: "account" }],
    ["a CSV in no form", "/usage.csv", { decimal: "dot" }],
  ] as const) {
    t.test(`refuses ${name}`, async (t) => {
      const response = await world.as(ALICE, path, query);
      t.equal(response.status, 400, await response.text());
    });
  }

  t.test("finds no call for an id that no call can have", async (t) => {
    for (const id of ["x", KEY, "ffffffff-ffff-7fff-8fff-ffffffffffff"]) {
      t.equal((await world.as(ALICE, `/calls/${id}`)).status, 404, id);
    }
  });
});
