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
    const refusal = new KeyLimits(JSON.stringify(limits)).refusal(NOW_MS, caller);
    t.equal(String(refusal?.code), code, `${JSON.stringify(limits)} ${address}`);
  }
});

t.test("an address is read only if the key has addresses", async (t) => {
  const caller = { clientAddress: () => t.fail("it was read") };
  new KeyLimits('{"models":["*"]}').refusal(NOW_MS, caller as never);
});
