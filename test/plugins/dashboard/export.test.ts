import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import t from "tap";
import { csvColumns } from "../../../plugins/dashboard/csv.ts";
import { csvFile, csvLine } from "../../../plugins/page-parts/browser/csv.ts";
import { until } from "../../support/until.ts";
import { ALICE, keyId, record, startUsageWorld } from "./usage-fixtures.ts";

t.test("the CSV export", async (t) => {
  const world = await startUsageWorld();
  await world.sql`
    insert into api_keys (id, account_id, name, hash, prefix)
    values (${keyId(1)}, ${ALICE}, ${'Khóa "chính", số 1'}, sha256('a'), 'tg-a'),
      (${keyId(2)}, ${ALICE}, '=HYPERLINK("http://evil.test")', sha256('b'), 'tg-b'),
      (${keyId(5)}, ${ALICE}, '2024.10', sha256('e'), 'tg-e')`;
  t.teardown(() => world.close());

  async function lines(query: Record<string, string>): Promise<string[]> {
    const response = await world.as(ALICE, "/usage.csv", query);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8");
    assert.match(
      response.headers.get("content-disposition") ?? "",
      /^attachment; filename="usage-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    // Without the byte order mark Excel reads UTF-8 as another encoding, and ế as several
    // characters.
    assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
    const text = bytes.subarray(3).toString("utf8");
    assert.ok(text.endsWith("\r\n"));
    return text.slice(0, -2).split("\r\n");
  }

  t.test("has a header and one line for each call that matches the filter", async (t) => {
    const atMs = Date.UTC(2026, 10, 9, 18, 30, 15, 250);
    const id = await record(world.sql, { model: "one", atMs, charged: 1_500_000, firstByteMs: 20 });
    await record(world.sql, { model: "two", atMs });
    t.strictSame(await lines({ model: "one" }), [
      csvColumns.join(","),
      `${id},2026-11-09T18:30:15.250Z,2026-11-10 01:30:15,/v1/messages,one,,${keyId(1)},` +
        '"Khóa ""chính"", số 1",200,complete,true,900,100,50,100,20,0,1.5,0,1,1234.5,20,false,mtok,36000,,1000,,0',
    ]);
  });

  t.test("writes decimal commas for spreadsheets that expect them", async (t) => {
    await record(world.sql, { model: "comma", charged: 1_500_000 });
    const [head, line] = await lines({ model: "comma", decimal: "comma" });
    t.equal(head, csvColumns.join(";"));
    t.ok(line?.endsWith(";1,5;0;1;1234,5;;false;mtok;36000;;1000;;0"), line ?? "");
  });

  t.test("leaves the point in names, reasons and other texts", async (t) => {
    await record(world.sql, { model: "4.5", keyId: keyId(5), mappedFrom: "1.5" });
    const [, line] = await lines({ model: "4.5", decimal: "comma" });
    t.ok(line?.includes(`;4.5;1.5;${keyId(5)};2024.10;`), line ?? "");
    const rows = [{ reason: "1.5", amount_vnd: "-1.5", discount: 2.5, note: null }];
    t.equal(
      csvFile(rows, undefined, "comma").slice(1),
      "reason;amount_vnd;discount;note\r\n1.5;-1,5;2,5;\r\n",
    );
  });

  t.test("shows the factors of a price, and the quantity that they make", async (t) => {
    await record(world.sql, { model: "factors" });
    await world.sql`update usage_records set factors = '{"cached_input": 0.1, "output": 4}'
      where model = 'factors'`;
    // 750 fresh tokens, 100 cached, 50 written to the cache, 100 of output.
    for (const [decimal, end] of [
      ["point", ",36000,cached_input × 0.1 + output × 4,1210,,0"],
      ["comma", ';36000;"cached_input × 0,1 + output × 4";1210;;0'],
    ] as const) {
      const [, line] = await lines({ model: "factors", decimal });
      t.ok(line?.endsWith(end), line ?? "");
    }
  });

  t.test("holds no formula, whatever the name of a key or model", async (t) => {
    await record(world.sql, { model: "-2+3", keyId: keyId(2), mappedFrom: "@SUM(A1)" });
    const [, line] = await lines({ key: keyId(2) });
    t.ok(line?.includes(`,'-2+3,'@SUM(A1),`), line ?? "");
    t.ok(line?.includes(`,"'=HYPERLINK(""http://evil.test"")",`), line ?? "");
    for (const text of ["=1", "+1", "-a", "@a", "\ta", "\ra"]) {
      t.match(csvLine([text]), /^"?'/, JSON.stringify(text));
    }
    t.equal(csvLine(["a=1"]), "a=1");
    t.equal(csvLine(["a\nb"]), '"a\nb"');
    t.equal(csvLine(["a;b"]), '"a;b"');
    // A spreadsheet whose language separates fields by another sign splits the text there.
    t.equal(csvLine(["a;=cmd|'/C calc'!A0"]), `"a;'=cmd|'/C calc'!A0"`);
    t.equal(csvLine(["a, -1\t@b"]), `"a,' -1\t'@b"`);
    t.equal(csvLine(["=a;+b"]), `"'=a;'+b"`);
  });

  t.test("holds each of many calls once, newest first", async (t) => {
    const many = 2_500;
    await world.sql`
      insert into usage_records
      select ('01a1ffad-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
        '2026-11-08T00:00:00Z'::timestamptz + interval '1 ms' * (n / 3), ${ALICE}, ${keyId(3)},
        '/v1/messages', 'many', null, 'anthropic', 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, null, 200, true,
        'complete', false, 'mtok', '0123abcd', 36000000000
      from generate_series(1, ${many}) n`;
    const [, ...rows] = await lines({ model: "many" });
    const ids = rows.map((row) => row.split(",")[0] ?? "");
    t.equal(ids.length, many);
    t.strictSame(ids, [...new Set(ids)].sort().reverse());
  });

  t.test(
    "refuses a third export at a time, and frees the place of a client that left",
    async (t) => {
      await world.sql`
      insert into usage_records
      select gen_random_uuid(), '2026-11-07T00:00:00Z'::timestamptz + interval '1 ms' * n, ${ALICE},
        ${keyId(4)}, '/v1/messages', 'slow', null, 'anthropic', 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, null,
        200, true, 'complete', false, 'mtok', '0123abcd', 36000000000
      from generate_series(1, 60000) n`;
      // Neither client reads, so neither export ends: the file is larger than the socket buffers.
      const open = await Promise.all([1, 2].map(() => unread()));
      const refused = await world.as(ALICE, "/usage.csv", { model: "slow" });
      t.equal(refused.status, 429);
      t.ok(refused.headers.get("retry-after"));
      // biome-ignore lint/suspicious/noExplicitAny: the answer is compared field by field
      const body: any = await refused.json();
      t.equal(body.error.code, "too_many_exports");
      for (const response of open) response.destroy();
      await until("the exports of disconnected clients have ended", async () => {
        const response = await world.as(ALICE, "/usage.csv", { model: "one" });
        await response.arrayBuffer();
        return response.status === 200;
      });
    },
  );

  async function unread(): Promise<IncomingMessage> {
    const sent = request(`${world.gateway.url}/account/v1/usage.csv?model=slow`, {
      headers: { "x-test-account": ALICE },
      agent: false,
    });
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.on("error", () => {});
    return response;
  }

  t.test("reads no call for HEAD, which has its headers alone", async (t) => {
    await world.sql`alter table usage_records rename to away`;
    try {
      const response = await fetch(`${world.gateway.url}/account/v1/usage.csv`, {
        method: "HEAD",
        headers: { "x-test-account": ALICE },
      });
      t.equal(response.status, 200);
      t.match(response.headers.get("content-disposition"), "attachment");
    } finally {
      await world.sql`alter table away rename to usage_records`;
    }
  });

  t.test(
    "breaks the connection if the database fails, so that the file does not look complete",
    async (t) => {
      const response = await unread();
      await world.sql`alter table usage_records rename to away`;
      try {
        const ended = new Promise<boolean>((resolve) => {
          response.on("close", () => resolve(response.complete));
        });
        response.resume();
        t.equal(await ended, false);
      } finally {
        await world.sql`alter table away rename to usage_records`;
      }
    },
  );
});
