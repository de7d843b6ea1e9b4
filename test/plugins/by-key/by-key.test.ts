import t from "tap";
import { parseVnd } from "../../../core/catalogue/amount.ts";
import { dayOf, type Services, v } from "../../../core/plugin/index.ts";
import { type PlainRequest, Router } from "../../../core/plugin/router.ts";
import byKey from "../../../plugins/by-key/index.ts";
import { questionsOfOthers } from "../../../plugins/by-key/of-others.ts";
import { ownQuestions } from "../../../plugins/by-key/own.ts";
import { admin } from "../../support/admin.ts";
import { assertBalance, billedCalls, customerWith } from "../../support/billed.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { deskOf } from "../../support/plugin-desk.ts";
import { bodies, get, paths, post } from "../../support/requests.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";
import { until } from "../../support/until.ts";

const NANO = "gpt-4.1-nano";
const OPUS = "claude-opus-5-5";
const VERSIONED = { "anthropic-version": "2023-06-01" };
/** The questions with their schemas, without anything to answer from. */
const questions = [...ownQuestions({} as Services), ...questionsOfOthers({} as Services)];

let gateway: TestGateway;
t.before(async () => {
  gateway = await sharedGateway();
});

/** A customer with a call of each of two keys, and what both cost in đ. */
async function customerWithCalls() {
  const customer = await customerWith(gateway);
  const { body } = await admin(gateway, "POST", `/accounts/${customer.accountId}/keys`, {
    name: "another",
  });
  const other = { ...customer, key: String(body["key"]), keyId: String(body["id"]) };
  await post(gateway, paths.chat, customer, bodies.chat());
  await post(gateway, paths.messages, other, bodies.messages());
  const records = await billedCalls(gateway, customer, 2);
  const costOf = (model: string) =>
    String(records.find((record) => record["model"] === model)?.["cost_vnd"]);
  return { customer, other, own: costOf(NANO), others: costOf(OPUS) };
}

const micro = (vnd: string) => parseVnd(vnd) ?? -1n;

t.test("every question", async (t) => {
  const customer = await customerWith(gateway);
  for (const { path, reply } of questions) {
    t.test(`GET ${path} has the described shape, and needs a key`, async (t) => {
      const found = await get(gateway, path, customer);
      t.equal(found.status, 200, found.text);
      t.strictSame(v.parse(reply, found.json), found.json);
      t.equal(found.headers.get("cache-control"), "no-store");
      for (const caller of [undefined, { key: `${customer.key}x` }]) {
        const refused = await get(gateway, path, caller);
        t.match(refused, { status: 401, json: { error: { type: "authentication_error" } } });
        t.match((await get(gateway, path, caller, VERSIONED)).json, {
          type: "error",
          error: { type: "authentication_error" },
        });
      }
      const posted = await post(gateway, path, customer, {});
      t.equal(posted.status, 405);
    });
  }

  t.test("is answered also to a key without money, and not to one that was revoked", async (t) => {
    const poor = await customerWith(gateway, 1);
    await admin(gateway, "POST", `/accounts/${poor.accountId}/adjustments`, {
      ...{ amount_vnd: -1, reference: `empty-${poor.accountId}`, reason: "a test" },
    });
    t.match((await get(gateway, "/v1/balance", poor)).json, { available_vnd: "0" });
    t.equal((await admin(gateway, "POST", `/keys/${poor.keyId}/revoke`, {})).status, 200);
    t.equal((await get(gateway, "/v1/balance", poor)).status, 401);
  });
});

t.test("what a key is answered", async (t) => {
  const { customer, other, own, others } = await customerWithCalls();
  const today = dayOf(new Date());
  const ask = async (path: string, caller = customer) => (await get(gateway, path, caller)).json;
  const spent = micro(own) + micro(others);

  t.test("of the balance is what operators see", async (t) => {
    const balance = await ask("/v1/balance");
    t.strictSame([balance.held_vnd, balance.pending_vnd], ["0", "0"]);
    t.equal(micro(balance.available_vnd), 100_000_000_000n - spent);
    await assertBalance(gateway, customer, balance.balance_vnd);
  });

  t.test("of usage is each model's calls, to the micro-dong", async (t) => {
    const all = await ask("/v1/usage");
    const rows = all.data.map((row: Record<string, unknown>) => [
      ...[row["day"], row["model"], row["calls"], row["cost_vnd"]],
    ]);
    t.strictSame(rows, [
      [today, OPUS, 1, others],
      [today, NANO, 1, own],
    ]);
    t.match(all, { scope: "account", to: today, next: null, total: { calls: 2 } });
    t.equal(micro(all.total.cost_vnd), spent);
    const ofKey = await ask("/v1/usage?scope=key");
    t.match(ofKey, { total: { calls: 1, cost_vnd: own }, data: [{ model: NANO }] });
    t.match(await ask("/v1/usage?scope=key", other), { data: [{ model: OPUS }] });
  });

  t.test("of usage comes in pages that together are all", async (t) => {
    const first = await ask("/v1/usage?limit=1");
    t.match(first, { data: [{ model: OPUS }], total: { calls: 2 }, next: `${today},${OPUS}` });
    const next = encodeURIComponent(first.next);
    t.match(await ask(`/v1/usage?limit=1&after=${next}`), { data: [{ model: NANO }], next: null });
    const past = encodeURIComponent(`${today},zzz`);
    t.match(await ask(`/v1/usage?after=${past}`), { data: [], total: { calls: 2 }, next: null });
  });

  t.test("of days without calls is nothing", async (t) => {
    const before = await ask("/v1/usage?from=2026-01-01&to=2026-01-31");
    t.match(before, { data: [], total: { calls: 0, cost_vnd: "0" }, next: null });
  });

  t.test("of itself is its name, age and cost", async (t) => {
    const key = await ask("/v1/key", other);
    t.match(key, { id: other.keyId, name: "another", requests_per_minute: null, cost_vnd: others });
    t.equal(key.prefix, other.key.slice(0, key.prefix.length));
    t.ok(Date.parse(key.last_used_at) >= Date.parse(key.created_at));
  });

  t.test("in OpenRouter's shapes: credits less usage is the balance", async (t) => {
    const { data } = await ask("/api/v1/credits");
    t.strictSame([data.total_credits, data.total_usage], [100_000, Number(spent) / 1e6]);
    const key = (await ask("/api/v1/key")).data;
    const cost = Number(own);
    t.match(key, {
      label: "test",
      limit: null,
      limit_remaining: null,
      is_free_tier: false,
      usage: cost,
      usage_daily: cost,
      usage_weekly: cost,
      usage_monthly: cost,
    });
    t.strictSame((await ask("/api/v1/auth/key")).data, key);
  });

  t.test("in OpenAI's former shapes: limit less a hundredth of usage is the balance", async (t) => {
    const billing = "/v1/dashboard/billing";
    const { hard_limit_usd: limit } = await ask(`${billing}/subscription`);
    const dates = "start_date=2026-11-01&end_date=2026-12-01";
    const { total_usage: used } = await ask(`${billing}/usage?${dates}`);
    t.strictSame([limit, used], [100_000, Number(spent) / 1e4]);
    t.match(await ask(`${billing}/credit_grants`), {
      total_granted: 100_000,
      total_used: Number(spent) / 1e6,
      total_available: Number(100_000_000_000n - spent) / 1e6,
    });
  });
});

t.test("a key with limits shows them, in each shape that has a place for them", async (t) => {
  const customer = await customerWith(gateway);
  const limits = {
    ends_at: "2199-12-31T17:00:00.000Z",
    models: ["gpt-*"],
    addresses: ["127.0.0.0/8"],
  };
  const path = `/keys/${customer.keyId}/limits`;
  t.equal((await admin(gateway, "POST", path, { ...limits, reason: "a test" })).status, 200);
  t.strictSame((await get(gateway, "/v1/key", customer)).json.limits, limits);
  t.equal((await get(gateway, "/api/v1/key", customer)).json.data.expires_at, limits.ends_at);
  const { json } = await get(gateway, "/v1/dashboard/billing/subscription", customer);
  t.equal(json.access_until, Date.parse(limits.ends_at) / 1000);
});

t.test("money that is held or not recorded yet is left out of no sum", async (t) => {
  const customer = await customerWith(gateway);
  const running = post(gateway, paths.chat, customer, bodies.chat({ delay_ms: 1_500 }));
  await until("money is held", async () => {
    const { held_vnd, balance_vnd, available_vnd } = (await get(gateway, "/v1/balance", customer))
      .json;
    if (held_vnd === "0") return false;
    t.equal(micro(held_vnd) + micro(available_vnd), micro(balance_vnd));
    return true;
  });
  t.match((await get(gateway, "/api/v1/credits", customer)).json, {
    data: { total_credits: 100_000, total_usage: 0 },
  });
  t.equal((await running).status, 200);
});

t.test("a wrong question is 400 in the caller's protocol, and names the parameter", async (t) => {
  const customer = await customerWith(gateway);
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ["from=yesterday", "from", /a day, such as/],
    ["from=2026-02-31", "from", /a day, such as/],
    ["from=2026-11-02&to=2026-11-01", "from", /not after to/],
    ["from=2026-01-01&to=2026-04-03", "from", /at most 92 days/],
    ["scope=all", "scope", /account, key/],
    ["limit=0", "limit", /from 1 to 1000/],
    ["limit=1001", "limit", /from 1 to 1000/],
    ["after=2026-11-01", "after", /the reply before/],
    ["after=2026-11-01%2C%00", "after", /the reply before/],
    ["by=hour", "by", /unknown field/],
  ];
  for (const [query, param, message] of wrong) {
    const found = await get(gateway, `/v1/usage?${query}`, customer);
    t.match(found, { status: 400, json: { error: { type: "invalid_request_error", param } } });
    t.match(found.json.error.message, message, query);
    const asked = await get(gateway, `/v1/usage?${query}`, customer, VERSIONED);
    t.match(asked.json, { type: "error", error: { type: "invalid_request_error" } });
  }
  t.equal((await get(gateway, "/v1/usage?from=2026-01-01&to=2026-04-02", customer)).status, 200);
});

t.test("a key that asks too often gets 429, before anything is read", async (t) => {
  const taken: unknown[] = [];
  const { services } = deskOf({
    rateLimiter: {
      takeCall: async (...args: unknown[]) => {
        taken.push(args);
        return { allowed: false, remaining: 0, resetMs: 9, retryMs: 1_001 };
      },
    },
  });
  const router = new Router();
  byKey(services, { questions_per_minute: 7 }).routes?.(router);
  const asked = { params: {}, query: new URLSearchParams(), keyId: "K", accountId: "A" };
  let asking = 0;
  for (const route of router.all()) {
    if (route.access !== "key") continue;
    asking++;
    t.match(await route.handler(asked as unknown as PlainRequest), {
      status: 429,
      code: "rate_limit_exceeded",
      headers: ["retry-after", "2"],
    });
  }
  t.equal(asking, questions.length);
  t.strictSame(taken[0], ["K:questions", 7, 7]);
});
