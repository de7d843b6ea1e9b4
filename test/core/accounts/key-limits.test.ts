import t from "tap";
import { KeyLimits, type KeyLimitsJson } from "../../../core/accounts/key-limits.ts";

const NOW_MS = Date.parse("2026-11-27T10:00:00Z");

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
    const refusal = new KeyLimits("K", limits).refusal(NOW_MS, caller);
    t.equal(String(refusal?.code), code, `${limits} ${address}`);
  }
});

t.test("an address is read only if the key has addresses", async (t) => {
  const caller = { clientAddress: () => t.fail("it was read") };
  new KeyLimits("K", { models: ["*"] }).refusal(NOW_MS, caller as never);
});

t.test("a budget is the purse of its day or month in Vietnam, or of the key", async (t) => {
  const json = { day_vnd: "100", month_vnd: "2000", total_vnd: "0" };
  const limits = new KeyLimits("K", json);
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
  t.strictSame(new KeyLimits("K", { paused: true }).budgets(NOW_MS), []);
});
