import assert from "node:assert/strict";
import t from "tap";
import { ALICE, BOB, KEY, keyId, NOON, record, startUsageWorld } from "./usage-fixtures.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

t.test("usage of a customer", async (t) => {
  const world = await startUsageWorld();
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
      factors: null,
      quantity: 1_000,
      discounts: null,
      fees_vnd: "0",
      catalogue_version: "0123abcd",
    });
    const { state, recomputed_vnd, is_equal, calculation, ...one } = await json(`/calls/${id}`);
    t.strictSame(one, call);
    t.strictSame([state, recomputed_vnd, is_equal], ["recorded", "36", true]);
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
        t.ok(page.data.length > 0, "no page is empty");
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

  t.test("is summed by status, as the list is filtered", async (t) => {
    const wanted = { model: "by-status", keyId: keyId(20) };
    for (let n = 0; n < 3; n += 1) await record(world.sql, { ...wanted, charged: 1_000_000 });
    await record(world.sql, { ...wanted, status: 502, charged: 0 });
    await record(world.sql, { ...wanted, status: 429, charged: 0 });
    await record(world.sql, { ...wanted, keyId: keyId(21), status: 502, charged: 0 });
    const sums = async (query: Record<string, string>, by = "day,key") => {
      const period = { from: "2026-11-01", to: "2026-11-30" };
      const { data, total } = await json("/usage/summary", { by, ...period, ...query });
      const rows = data.map((sum: { key: string; calls: number }) => [sum.key, sum.calls]);
      return { rows, calls: total.calls, cost: total.cost_vnd, input: total.input_tokens };
    };
    const [first, second] = [keyId(20), keyId(21)];
    const { model } = wanted;
    const ok = { rows: [[first, 3]], calls: 3, cost: "3", input: 2700 };
    t.strictSame(await sums({ model, status: "ok" }), ok);
    t.strictSame(await sums({ model, status: "200" }), ok);
    const failed = [
      [first, 2],
      [second, 1],
    ];
    t.strictSame(await sums({ model, status: "failed" }), {
      rows: failed,
      calls: 3,
      cost: "0",
      input: 2700,
    });
    t.strictSame((await sums({ model, status: "502", key: first })).rows, [[first, 1]]);
    t.equal((await sums({ key: second, status: "failed" }, "model")).calls, 1);
    t.strictSame(await sums({ model, status: "402" }), { rows: [], calls: 0, cost: "0", input: 0 });
    t.equal((await sums({ model, status: "failed", to: "2026-11-09" })).calls, 0);
    // Of any filter, the sums and the list have the same number of calls.
    for (const status of ["ok", "failed", "502", "200"]) {
      for (const filter of [{}, { key: first }, { model, key: second }]) {
        const query: Record<string, string> = {
          ...filter,
          status,
          from: "2026-11-10",
          to: "2026-11-10",
        };
        const { data } = await json("/usage", { ...query, limit: "200" });
        t.equal((await sums(query, "day")).calls, data.length, JSON.stringify(query));
      }
    }
  });

  t.test("explains the charge of one call", async (t) => {
    const id = await record(world.sql, { model: "explained", charged: 34_920_000 });
    await world.sql`
      update usage_records set unit = 'mtok', unit_price = 36000000000, discount_bps = 300,
        discounts = '{"account": 200, "daily": 100}'
      where call_id = ${id}`;
    const { calculation } = await json(`/calls/${id}`);
    t.strictSame(calculation, {
      formula:
        "1000 tokens (900 in, 100 out) × 36000 đ / 1000000 = 36 đ; less 3% (account 2%, daily 1%) = 34.92 đ",
      quantity: 1000,
      unit: "mtok",
      unit_price_vnd: "36000",
      parts: [
        { kind: "input", count: 900, factor: 1 },
        { kind: "output", count: 100, factor: 1 },
      ],
      list_vnd: "36",
      discounts: { account: 200, daily: 100 },
      discount_bps: 300,
      discount_vnd: "1.08",
      fees_vnd: "0",
      cost_before_write_off_vnd: "34.92",
      written_off_vnd: "0",
      charged_vnd: "34.92",
    });
  });

  t.test("filters the refused calls by all that the list is filtered by", async (t) => {
    const last = ["a", "b"].map((model, at) => ({
      callId: `last-${model}`,
      at: `2026-11-1${at}T05:00:00Z`,
      keyId: keyId(30 + at),
      endpoint: "/v1/messages",
      model,
      status: 402 + at,
      cause: "insufficient_balance",
    }));
    await world.sql`
      insert into refused_calls values
        (${BOB}, '2026-11-10', ${keyId(30)}, 402, 'insufficient_balance', 7, now()),
        (${BOB}, '2026-11-11', ${keyId(31)}, 403, 'permission_error', 5, now())`;
    await world.sql`insert into last_refused_calls values (${BOB}, ${world.sql.json(last)})`;
    for (const [query, counts, ids] of [
      [{}, [5, 7], ["last-b", "last-a"]],
      [{ status: "failed" }, [5, 7], ["last-b", "last-a"]],
      [{ status: "402" }, [7], ["last-a"]],
      [{ status: "ok" }, [], []],
      [{ key: keyId(31) }, [5], ["last-b"]],
      [{ from: "2026-11-11" }, [5], ["last-b"]],
      [{ to: "2026-11-10" }, [7], ["last-a"]],
      [{ model: "a" }, [], ["last-a"]],
      [{ model: "a", status: "403" }, [], []],
    ] as const) {
      const found = await json("/usage/refused", query, BOB);
      const name = JSON.stringify(query);
      t.strictSame(
        found.counts.map((one: { calls: number }) => one.calls),
        counts,
        name,
      );
      t.strictSame(
        found.last.map((one: { call_id: string }) => one.call_id),
        ids,
        name,
      );
    }
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
