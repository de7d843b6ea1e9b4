import t from "tap";
import { decodeEntry, encodeEntry, entryOf } from "../../../core/money/entry.ts";
import type { UnreadableEntry } from "../../../core/money/outbox-entry.ts";
import { usageFieldList } from "../../../core/money/usage-fields.ts";
import { posting } from "../../support/posting.ts";

const call = posting({ callId: "c1", accountId: "a1", costMicroVnd: 70, mappedFrom: "opus" });

t.test("an entry is read as it was written", async (t) => {
  const text = encodeEntry(call, 60, 10);
  t.strictSame(decodeEntry("7", text), {
    entryId: "7",
    posting: call,
    chargedMicroVnd: 60,
    writtenOffMicroVnd: 10,
    text,
  });
});

t.test("an entry is read with each way in which a call ends, and with no other", async (t) => {
  for (const outcome of ["complete", "exhausted", "gone", "broken", "refused"] as const) {
    const ended = { ...call, outcome };
    t.strictSame(decodeEntry("7", encodeEntry(ended, 60, 10)).posting, ended);
  }
  const text = encodeEntry(call, 60, 10).replace('"complete"', '"other"');
  t.equal(decodeEntry("7", text).posting, undefined);
});

t.test("an unreadable entry shows what its text has of the call", async (t) => {
  const row = { v: 9, call_id: "c1", account_id: 5, at: "2026-01-02T03:04:05Z", charged: 70 };
  t.match(decodeEntry("7", JSON.stringify(row)), {
    posting: undefined,
    call: { callId: "c1", accountId: "", purses: null, at: Date.UTC(2026, 0, 2, 3, 4, 5) },
    chargedMicroVnd: 70,
    reason: /of version 9: this gateway reads versions up to/,
  });
});

t.test("an unreadable entry has no names that would be several fields of an operation", (t) => {
  for (const odd of ["a\nb", "a|b", "", "x".repeat(101)]) {
    const row = { v: 9, call_id: odd, account_id: odd, purses: ["day", odd] };
    const { call } = decodeEntry("7", JSON.stringify(row)) as UnreadableEntry;
    t.match(call, { callId: /^entry-/, accountId: "", purses: null });
  }
  t.end();
});

t.test("an entry keeps the purses that its call counts against", async (t) => {
  const limited = { ...call, purses: ["key:K", "day"] };
  t.strictSame(decodeEntry("7", encodeEntry(limited, 60, 10)).posting, limited);
});

t.test("an entry keeps every field of the table, and leaves out nulls", async (t) => {
  const full = posting({
    ...{ callId: "c1", accountId: "a1", costMicroVnd: 70, unit: "image" },
    ...{
      unitPriceMicroVnd: 1_000_000_000,
      factors: { per_image: 0.5 },
      quantity: 2_000_000,
      discounts: { account: 50, 'x","charged":': 1 },
    },
    ...{
      feesMicroVnd: 1,
      catalogueVersion: "abc",
    },
    purses: ["key:K"],
    providerCostMicroVnd: 5,
    heldMicroVnd: 90,
    mappedFrom: "a name",
  });
  const text = encodeEntry(full, 60, 10);
  t.strictSame(decodeEntry("7", text).posting, full);
  // With Redis the charge is known only after the post, and added then.
  const later = entryOf("7", full, 60, 10, encodeEntry(full, 0, 0));
  t.equal(later.text, text);
  t.equal(entryOf("7", full, 60, 10, text).text, text);
  const columns = usageFieldList.map(({ column }) => column);
  t.strictSame(Object.keys(JSON.parse(text)).sort(), ["cost", "v", ...columns].sort());
  const plain = Object.keys(
    JSON.parse(encodeEntry(posting({ callId: "c", accountId: "a" }), 0, 0)),
  );
  t.ok(plain.includes("unit") && !plain.includes("mapped_from"), plain.join());
});

t.test(
  "an entry with a field that a later gateway has added is read, and its text kept",
  async (t) => {
    const text = encodeEntry(call, 60, 10).replace('"v":1', '"v":1,"later":[1]');
    t.strictSame(decodeEntry("7", text), {
      ...decodeEntry("7", encodeEntry(call, 60, 10)),
      text,
    });
  },
);

t.test("an entry of a newer version is kept as text, with its call and charge", async (t) => {
  const limited = { ...call, purses: ["key:K"] };
  const text = encodeEntry(limited, 60, 10).replace('"v":1', '"v":2');
  const entry = decodeEntry("7", text);
  t.match(entry, {
    ...{ entryId: "7", text, chargedMicroVnd: 60 },
    call: { callId: "c1", accountId: "a1", purses: ["key:K"] },
    reason: /version 2.* reads versions up to 1.*Install the version/,
  });
  t.equal(entry.posting, undefined);
});

t.test("a text that is no entry is kept, under a name of its own", async (t) => {
  const texts = [
    "",
    "{",
    "null",
    "7",
    "[3]",
    '{"v":2}',
    '{"v":1,"call_id":"\\u0000","charged":-1}',
  ];
  const entries = texts.map((text) => decodeEntry("7", text));
  for (const [at, entry] of entries.entries()) {
    t.equal(entry.text, texts[at]);
    t.equal(entry.chargedMicroVnd, 0);
    t.strictSame(decodeEntry("8", entry.text), { ...entry, entryId: "8" });
  }
  const names = entries.map(({ posting, ...rest }) =>
    "call" in rest ? rest.call.callId : posting,
  );
  t.equal(new Set(names).size, texts.length);
});
