import t from "tap";
import { KeyLimits, type KeyLimitsJson } from "../../../core/accounts/key-limits.ts";

const NOW_MS = Date.parse("2026-11-27T10:00:00Z");

const KEY = { kind: "key", id: "K" } as const;

t.test("the limits of a key decide by time and address, in this order", async (t) => {
  const past = "2026-11-27T10:00:00.000Z";
  const future = "2026-11-27T10:00:00.001Z";
  const addresses = ["203.0.113.7", "2001:db8::/32", "::ffff:198.51.100.0/120", "private"];
  const table: [KeyLimitsJson, string, string][] = [
    [{}, "unknown", "undefined"],
    [{ ends_at: past }, "", "key_expired"],
    [{ ends_at: future }, "", "undefined"],
    [{ ends_at: past, paused: true }, "", "key_expired"],
    [{ paused: true, addresses }, "", "key_paused"],
    [{ addresses }, "203.0.113.7", "undefined"],
    [{ addresses }, "203.0.113.8", "address_not_allowed"],
    [{ addresses }, "198.51.100.9", "undefined"],
    [{ addresses }, "2001:db8:0:0:0:0:0:1", "undefined"],
    [{ addresses }, "2001:db9:0:0:0:0:0:1", "address_not_allowed"],
    [{ addresses }, "10.1.2.3", "undefined"],
    [{ addresses }, "unknown", "address_not_allowed"],
  ];
  for (const [limits, address, code] of table) {
    const caller = { clientAddress: () => address };
    const refusal = new KeyLimits(KEY, limits).refusal(NOW_MS, caller);
    t.equal(String(refusal?.code), code, `${limits} ${address}`);
  }
});

t.test("an address is read only if the key has addresses", async (t) => {
  const caller = { clientAddress: () => t.fail("it was read") };
  new KeyLimits(KEY, { models: ["*"] }).refusal(NOW_MS, caller as never);
});

t.test("a budget is the purse of its day or month in Vietnam, or of the key", async (t) => {
  const json = { day_vnd: "100", month_vnd: "2000", total_vnd: "0" };
  const limits = new KeyLimits(KEY, json);
  const budgets = (time: string) =>
    limits
      .budgets(Date.parse(time))
      .map(({ name, limitMicroVnd, until }) => `${name} ${limitMicroVnd} ${until?.toISOString()}`);
  const total = "key:K:total 0 undefined";
  const january = "key:K:2027-01 2000000000 2027-01-31T17:00:00.000Z";
  t.strictSame(budgets("2026-12-31T16:59:59.999Z"), [
    "key:K:2026-12-31 100000000 2026-12-31T17:00:00.000Z",
    "key:K:2026-12 2000000000 2026-12-31T17:00:00.000Z",
    total,
  ]);
  t.strictSame(budgets("2026-12-31T17:00:00Z"), [
    "key:K:2027-01-01 100000000 2027-01-01T17:00:00.000Z",
    january,
    total,
  ]);
  t.strictSame(budgets("2027-01-31T16:59:59Z")[1], january);
  const [day, , all] = limits.budgets(Date.parse("2026-11-27T10:00:00Z"));
  t.match(day?.refusal(36_500_000), {
    status: 402,
    type: "insufficient_balance",
    code: "key_budget_exceeded",
    message:
      /^This API key has 36\.5 đ left of its budget of 100 đ a day, .* Wait until 2026-11-27T17:00:00\.000Z, or/,
  });
  t.match(all?.refusal(-5), { message: /has 0 đ left of its budget of 0 đ in all,/ });
  t.strictSame(new KeyLimits(KEY, { paused: true }).budgets(NOW_MS), []);
});

t.test("a key that a member uses is held to his limits too", async (t) => {
  const ofKey = (json: object) => {
    const limits = new KeyLimits(KEY, json);
    limits.ofMember = new KeyLimits({ kind: "member", id: "M" }, OF_MEMBER);
    return limits;
  };
  const limits = ofKey({ day_vnd: "5", models: ["gpt-*", "claude-*"] });
  const at = Date.parse("2026-11-27T10:00:00Z");
  t.strictSame(
    limits.budgets(at).map(({ name }) => name),
    ["key:K:2026-11-27", "member:M:2026-11", "member:M:total"],
  );
  t.strictSame(
    ofKey({})
      .budgets(at + 86_400_000 * 7)
      .map(({ name }) => name),
    ["member:M:2026-12", "member:M:total"],
  );
  t.match(limits.budgets(at)[1]?.refusal(9_000_000), {
    status: 402,
    code: "member_budget_exceeded",
    message: /^You have 9 đ left of your budget of 70 đ a month in this team, .* Wait until/,
  });
  t.equal(limits.refusalOf("gpt-4.1-nano"), undefined);
  t.match(limits.refusalOf("claude-x"), { code: "model_not_allowed", message: /^Your place/ });
  t.match(limits.refusalOf("gemini-x"), { code: "model_not_allowed", message: /^This API key/ });
  const caller = { clientAddress: () => "10.0.0.1" };
  t.equal(limits.refusal(at, caller), undefined);
  t.match(limits.refusal(Date.parse("2026-12-31"), caller), { code: "member_expired" });
  limits.ofMember = new KeyLimits({ kind: "member", id: "M" }, { paused: true });
  t.match(limits.refusal(at, caller), { code: "member_paused", status: 403 });
  t.ok(limits.bytes > ofKey({}).bytes - 100);
});

const OF_MEMBER = {
  month_vnd: "70",
  total_vnd: "900",
  models: ["gpt-*"],
  ends_at: "2026-12-30T17:00:00.000Z",
};
