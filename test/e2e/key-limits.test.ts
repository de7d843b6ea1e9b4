import assert from "node:assert/strict";
import t, { type Test } from "tap";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { bodies, get, openStream, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";
import { until } from "../support/until.ts";

/** Far above the cost of these calls. */
const CREDIT_VND = 100_000;
const CALLS = {
  messages: bodies.messages({ output_tokens: 1 }),
  chat: bodies.chat({ output_tokens: 1 }),
  responses: bodies.responses({ output_tokens: 1 }),
};

let gateway: TestGateway;
t.before(async () => {
  gateway = await sharedGateway();
});

async function limit(
  { keyId }: Pick<Customer, "keyId">,
  change: object,
): Promise<Record<string, unknown>> {
  const { status, body } = await admin(gateway, "POST", `/keys/${keyId}/limits`, change);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const call = (customer: Customer, headers = {}) =>
  post(gateway, paths.messages, customer, CALLS.messages, headers);

/** Expects the refusal in the shape of each protocol, and no charge. */
async function refusesAll(
  t: Test,
  customer: Customer,
  expected: { status: number; type: string; code: string; message: RegExp; param?: string },
  headers: Record<string, string> = {},
) {
  const { status, type, code, message, param = null } = expected;
  for (const protocol of ["messages", "chat", "responses"] as const) {
    const answer = await post(gateway, paths[protocol], customer, CALLS[protocol], headers);
    t.equal(answer.status, status, `${protocol}: ${answer.text}`);
    t.equal(answer.headers.get("x-svc-cost-vnd"), null);
    t.match(answer.json.error.message, message);
    if (protocol === "messages") {
      t.match(answer.json, { type: "error", error: { type } });
    } else t.match(answer.json.error, { type, code, param });
  }
}

t.test("a paused key is refused until it is resumed", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  t.equal((await call(customer)).status, 200);
  t.match(await limit(customer, { paused: true }), { limits: { paused: true } });
  await refusesAll(t, customer, {
    status: 403,
    type: "permission_error",
    code: "key_paused",
    message: /paused: use another key, or resume it/,
  });
  t.equal((await get(gateway, "/v1/models", customer)).status, 403);
  t.strictSame((await limit(customer, { paused: false }))["limits"], {});
  t.equal((await call(customer)).status, 200);
});

t.test("a suspended account that is resumed does not resume its paused key", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(customer, { paused: true });
  for (const action of ["suspend", "resume"]) {
    const path = `/accounts/${customer.accountId}/${action}`;
    t.equal((await admin(gateway, "POST", path, { reason: "a test" })).status, 200);
  }
  t.equal((await call(customer)).json.error.type, "permission_error");
  await limit(customer, { paused: null });
  t.equal((await call(customer)).status, 200);
});

t.test("a key ends with its last day in Vietnam, or at a time", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  t.match(await limit(customer, { ends_at: "2999-12-31" }), {
    limits: { ends_at: "2999-12-31T17:00:00.000Z" },
  });
  t.equal((await call(customer)).status, 200);
  await limit(customer, { ends_at: new Date(Date.now() + 1_000).toISOString() });
  await until("it has ended", async () => (await call(customer)).status === 401);
  await refusesAll(t, customer, {
    status: 401,
    type: "authentication_error",
    code: "key_expired",
    message: /end date of this API key has passed: use another key/,
  });
  await limit(customer, { ends_at: null });
  t.equal((await call(customer)).status, 200);
});

t.test("a key for some models is refused others, under whatever name", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(customer, { models: ["claude-haiku*", "req/*"] });
  await refusesAll(t, customer, {
    status: 403,
    type: "permission_error",
    code: "model_not_allowed",
    message: /not for the model \S+; it is for claude-haiku\*, req\/\*/,
    param: "model",
  });
  const named = (model: string) =>
    post(gateway, paths.messages, customer, { ...CALLS.messages, model });
  t.equal((await named("claude-haiku-5-5")).status, 200);
  // An alias counts as its model, and so does the model that replaces an unknown name.
  for (const name of ["opus", "there-is-no-such-model"]) {
    t.equal((await named(name)).status, 403, name);
  }
  await limit(customer, { models: [] });
  t.equal((await call(customer)).status, 200);
});

t.test("a key takes calls from its addresses only, as trusted proxies state them", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(customer, { addresses: ["203.0.113.0/24", "2001:db8::/32"] });
  const from = (address: string) => ({ "x-forwarded-for": address });
  for (const address of ["203.0.113.7", "198.51.100.1, 203.0.113.7", "2001:db8::7"]) {
    t.equal((await call(customer, from(address))).status, 200, address);
  }
  const expected = {
    status: 403,
    type: "permission_error",
    code: "address_not_allowed",
    message: /does not take calls from 198\.51\.100\.1: call from an address that it allows/,
  };
  await refusesAll(t, customer, expected, from("198.51.100.1"));
  t.equal((await call(customer, from("203.0.113.7, 198.51.100.1"))).status, 403);
  t.equal((await call(customer)).status, 403);
  await limit(customer, { addresses: ["loopback"] });
  t.equal((await call(customer)).status, 200);
});

t.test("limits that mean nothing are refused, and the others stay", async (t) => {
  const customer = await createCustomer(gateway);
  const before = { paused: true, models: ["claude-*"] };
  await limit(customer, before);
  for (const [change, param] of [
    [{ paused: "yes" }, "paused"],
    [{ ends_at: "tomorrow" }, "ends_at"],
    [{ ends_at: "2026-02-01T25:00Z" }, "ends_at"],
    [{ ends_at: "2026-13-01" }, "ends_at"],
    [{ ends_at: "2027-02-30" }, "ends_at"],
    [{ ends_at: "2027-02-30T12:00Z" }, "ends_at"],
    [{ ends_at: "2026-01-01" }, "ends_at"],
    [{ ends_at: "2026-01-01T07:00+07:00" }, "ends_at"],
    [{}, null],
    [{ reason: "none" }, null],
    [{ models: ["gpt-4.1-nano", "gpt-9-maybe"] }, "models"],
    [{ models: "claude-*" }, "models"],
    [{ models: Array(51).fill("*") }, "models"],
    [{ addresses: ["203.0.113.0/33"] }, "addresses.0"],
    [{ addresses: ["203.0.113"] }, "addresses.0"],
    [{ address: [] }, "address"],
    [{ day_vnd: -1 }, "day_vnd"],
    [{ day_vnd: "1.000" }, "day_vnd"],
    [{ month_vnd: "1e3" }, "month_vnd"],
    [{ total_vnd: 1_000_000_001 }, "total_vnd"],
    [{ calls_per_minute: 0 }, "calls_per_minute"],
    [{ calls_at_once: 1.5 }, "calls_at_once"],
  ] as const) {
    const { status, body } = await admin(gateway, "POST", `/keys/${customer.keyId}/limits`, change);
    const error = body["error"] as { param: string };
    t.strictSame([status, error.param], [400, param], JSON.stringify(change));
  }
  t.strictSame((await limit(customer, { paused: true }))["limits"], before);
  const path = `/accounts/${customer.accountId}/keys`;
  const made = await admin(gateway, "POST", path, { name: "a", limits: { models: ["x"] } });
  t.match(made, { status: 400, body: { error: { param: "models" } } });
  const nested = await admin(gateway, "POST", path, { name: "a", limits: { paused: 1 } });
  t.match(nested, { status: 400, body: { error: { param: "limits.paused" } } });
  t.equal((await admin(gateway, "POST", "/keys/none/limits", { paused: true })).status, 404);
});

t.test("the audit trail names a key and its customer, whatever the request says", async (t) => {
  const { accountId, email, keyId } = await createCustomer(gateway);
  await limit({ keyId }, { day_vnd: 5_000 });
  const forged = { paused: true, key: "another", key_name: "another", account_id: keyId };
  t.equal((await admin(gateway, "POST", `/keys/${keyId}/limits`, forged)).status, 400);
  await admin(gateway, "POST", `/keys/${keyId}/revoke`);
  const { list } = (await admin(gateway, "GET", `/actions?account=${accountId}`)).body;
  const [revoked, refused, limited] = (list as { sentence: string }[]).map(
    ({ sentence }) => sentence,
  );
  const key = `the key ${keyId} (test) of ${email}`;
  t.match(revoked, `revoked ${key}`);
  t.match(refused, `limited ${key}; paused: on; it was refused (400)`);
  t.match(limited, `limited ${key}; đ a day: 5,000`);
});

t.test("a key stops at its budget, which says what is left and until when", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  const cost = (await call(customer)).headers.get("x-svc-cost-vnd");
  const { budgets } = await limit(customer, { day_vnd: 100_000, month_vnd: "1000" });
  t.match(budgets, [
    { period: "day", limit_vnd: "100000", spent_vnd: "0", held_vnd: "0", ends_at: /T17:00:00/ },
    { period: "month", limit_vnd: "1000", spent_vnd: "0" },
  ]);
  t.equal((await call(customer)).status, 200);
  const after = await limit(customer, { month_vnd: 0 });
  t.match(after["budgets"], [{ spent_vnd: cost }, { spent_vnd: cost, limit_vnd: "0" }]);
  const key = (await get(gateway, "/v1/key", customer)).json;
  t.match(key, { limits: { month_vnd: "0" }, budgets: [{ spent_vnd: cost }, { limit_vnd: "0" }] });
  const openRouter = (await get(gateway, "/api/v1/key", customer)).json;
  t.match(openRouter.data, { limit: 0, limit_remaining: 0, limit_reset: "monthly" });
  await refusesAll(t, customer, {
    status: 402,
    type: "insufficient_balance",
    code: "key_budget_exceeded",
    message: /has 0 đ left of its budget of 0 đ a month, .* Wait until \d{4}-\d\d-\d\dT17:00/,
  });
  const streamed = { ...CALLS.messages, stream: true };
  t.equal((await post(gateway, paths.messages, customer, streamed)).status, 402);
  t.match(await limit(customer, { month_vnd: null, total_vnd: 1 }), {
    limits: { day_vnd: "100000", total_vnd: "1" },
  });
  t.match((await call(customer)).json.error.message, /budget of 1 đ in all/);
});

t.test("a stream that reaches the budget is cut with its refusal", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(customer, { total_vnd: 30 });
  const model = { model: "claude-haiku-5-5", thinking: { type: "disabled" } };
  const body = bodies.messages(
    { output_tokens: 20_000 },
    { ...model, stream: true, max_tokens: 20_000 },
  );
  const { status, text } = await post(gateway, paths.messages, customer, body);
  t.equal(status, 200);
  t.match(text, /event: error.*insufficient_balance.*left of its budget of 30 đ in all/s);
});

t.test("a key's own rates are refused before its body is read", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(customer, { calls_per_minute: 1 });
  t.equal((await call(customer)).headers.get("x-ratelimit-limit-requests"), "1");
  const expected = { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" };
  await refusesAll(t, customer, { ...expected, message: /limited to 1 call a minute/ });
  t.equal((await post(gateway, paths.messages, customer, "{")).status, 429);
  // Its owner cannot raise what an operator set.
  const limited = { requests_per_minute: 2 };
  t.equal((await admin(gateway, "POST", `/keys/${customer.keyId}/limit`, limited)).status, 200);
  await limit(customer, { calls_per_minute: 1_000 });
  t.equal((await call(customer)).headers.get("x-ratelimit-limit-requests"), "2");

  const other = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  await limit(other, { calls_at_once: 1 });
  const release = `one at a time ${other.keyId}`;
  const long = bodies.messages({ delay_ms: 600_000, until: release }, { stream: true });
  const running = await openStream(gateway, paths.messages, other, long);
  await until("its provider has it", async () => {
    return ((await gateway.simulator.stats())["/v1/messages"]?.["open"] ?? 0) > 0;
  });
  await refusesAll(t, other, { ...expected, message: /limited to 1 call at once/ });
  await gateway.simulator.release(release);
  await running.rest();
  await until("the call has ended", async () => (await call(other)).status === 200);
});

t.test("a key can have limits from its first call on", async (t) => {
  const { accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  const limits = { models: ["claude-haiku-5-5"] };
  const path = `/accounts/${accountId}/keys`;
  const { body } = await admin(gateway, "POST", path, { name: "for a developer", limits });
  const made = { accountId, keyId: String(body["id"]), key: String(body["key"]) };
  t.equal((await post(gateway, paths.messages, made, CALLS.messages)).status, 403);
  t.match(await limit(made, { paused: null }), { id: made.keyId, limits });
});
