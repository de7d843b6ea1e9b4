import t from "tap";
import { admin, createCustomer } from "../../support/admin.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";

/** More than one search reads. */
const CALLS = 20_500;

t.test("operators find calls of all customers", async (t) => {
  const gateway = await sharedGateway();
  const [busy, other] = [await createCustomer(gateway), await createCustomer(gateway)];
  // The oldest of many calls has failed, and one of another customer.
  const calls = (accountId: string, keyId: string, count: number) => `
    insert into usage_records
    select gen_random_uuid(), date_trunc('milliseconds', now()) - interval '1 second' * n, '${accountId}', '${keyId}',
      '/v1/messages', case when n % 2 = 0 then 'even' else 'odd' end, null, 'anthropic', 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1,
      case when n = ${count} then 502 else 200 end, false, case when n = 2 and ${count} = 3 then 'broken' else 'complete' end, false, 'mtok', 'v', 1
    from generate_series(1, ${count}) n;`;
  await ledgerSql(
    gateway,
    `select make_usage_partition(now() - interval '1 day');
    ${calls(busy.accountId, busy.keyId, CALLS)} ${calls(other.accountId, other.keyId, 3)}
    update usage_records set provider_cost = 1, upstream = null where account_id = '${other.accountId}' and status = 502;
    update usage_records set provider_cost = 2 where account_id = '${busy.accountId}' and status = 502`,
  );
  const find = async (query: Record<string, string>) => {
    const { status, body } = await admin(gateway, "GET", `/calls?${new URLSearchParams(query)}`);
    t.equal(status, 200, JSON.stringify(body));
    return body as { calls: Record<string, unknown>[]; next: string | null };
  };

  t.test("by account, key, model, provider, status and day, newest first", async (t) => {
    const all = await find({ account: other.accountId });
    t.strictSame(
      all.calls.map(({ model, status }) => [model, status]),
      [
        ["odd", 200],
        ["even", 200],
        ["odd", 502],
      ],
    );
    t.equal(all.next, null);
    const counts: Record<string, number> = {};
    for (const [name, query] of Object.entries({
      key: { key: other.keyId },
      model: { model: "odd" },
      upstream: { upstream: "openai" },
      none: { upstream: "-" },
      cost: { cost: "unknown" },
      below: { cost: "below" },
      free: { cost: "below", status: "200" },
      status: { status: "failed" },
      one: { status: "502" },
      day: { to: "2026-01-01" },
      nobody: { key: busy.keyId },
    })) {
      counts[name] = (await find({ account: other.accountId, ...query })).calls.length;
    }
    const found = { key: 3, model: 2, upstream: 0, none: 1, cost: 2, below: 1, free: 0 };
    t.strictSame(counts, { ...found, status: 2, one: 1, day: 0, nobody: 0 });
  });

  t.test("between two times in Vietnam, of which the second is not included", async (t) => {
    const [newest] = (await find({ account: other.accountId })).calls;
    const atMs = Date.parse(String(newest?.["at"]));
    const minute = (later: number) =>
      new Date(atMs + later * 60_000 + 7 * 3_600_000).toISOString().slice(0, 16);
    const found = async (from: string, to: string) => {
      const { calls } = await find({ account: other.accountId, from, to });
      return calls.some(({ call_id }) => call_id === newest?.["call_id"]);
    };
    t.ok(await found(minute(0), minute(1)));
    t.notOk(await found(minute(-1), minute(0)));
    t.notOk(await found(minute(1), minute(2)));
  });

  t.test("page by page, each call once", async (t) => {
    const seen: unknown[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page = await find({
        account: other.accountId,
        limit: "2",
        ...(next && { before: next }),
      });
      seen.push(...page.calls.map(({ call_id }) => call_id));
      next = page.next;
    }
    t.equal(seen.length, 3);
    t.equal(new Set(seen).size, 3);
  });

  t.test("of which one search reads at most 20,000, and says how to go on", async (t) => {
    const rare = { account: busy.accountId, status: "failed" };
    const first = await find(rare);
    t.strictSame(first.calls, []);
    t.type(first.next, "string");
    const second = await find({ ...rare, before: String(first.next) });
    t.strictSame(
      second.calls.map(({ status }) => status),
      [502],
    );
    t.equal(second.next, null);
    const all = await find({ status: "200", limit: "1000" });
    t.equal(all.calls.length, 1000);
  });

  t.test("and those below cost at once, however old", async (t) => {
    for (const query of [{}, { account: busy.accountId }, { key: busy.keyId }]) {
      const { calls, next } = await find({ cost: "below", ...query });
      const [oldest] = calls.filter(({ account_id }) => account_id === busy.accountId);
      t.match(oldest, { status: 502, provider_cost_vnd: "0.000002" });
      t.equal(next, null);
    }
  });

  t.test("and learn what is wrong with a filter", async (t) => {
    for (const [query, words] of [
      ["status=fine", "status"],
      ["cost=above", "cost"],
      ["from=yesterday", "from"],
      ["account=minh", "account"],
      ["before=now", "before"],
      ["colour=red", "colour"],
    ] as const) {
      const { status, body } = await admin(gateway, "GET", `/calls?${query}`);
      t.equal(status, 400);
      t.match(JSON.stringify(body), words);
    }
  });

  t.test("and see balances in a list of customers", async (t) => {
    const rich = await createCustomer(gateway, { creditVnd: 1234 });
    const { body } = await admin(gateway, "GET", `/accounts?query=${rich.accountId}&balances=true`);
    t.match(body["list"], [{ email: rich.email, balance_vnd: "1234" }]);
    const poor = await createCustomer(gateway);
    for (const [{ accountId }, count] of [
      [rich, 1],
      [poor, 0],
    ] as const) {
      const { body } = await admin(gateway, "GET", `/accounts?query=${accountId}&having=balance`);
      t.equal((body["list"] as object[]).length, count);
    }
  });
});
