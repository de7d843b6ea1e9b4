import t from "tap";
import { debitOf } from "../../../core/money/debit.ts";
import { decodeEntry } from "../../../core/money/entry.ts";
import type { Movement } from "../../../core/money/outbox-entry.ts";

const NOW = Date.UTC(2026, 2, 1, 12, 0, 0, 5);
const DEBIT: Movement = {
  accountId: "01900000-0000-7000-8000-00000000aaaa",
  amountMicroVnd: -5n,
  reference: "r1",
  kind: "adjustment",
  reason: "of an operator",
};

t.test("a debit is read back as it was written", async (t) => {
  for (const debit of [
    DEBIT,
    { ...DEBIT, reference: 'a:b\n"c:', reason: null, kind: "topup" as const },
  ]) {
    const entry = debitOf(debit, NOW);
    t.strictSame(entry.debit, debit);
    t.equal(entry.chargedMicroVnd, 5);
    t.strictSame(decodeEntry("7", entry.text), { ...entry, entryId: "7" });
  }
});

t.test("the same movement has the same id, and no other one has it", async (t) => {
  const idOf = (change: Partial<Movement>, nowMs = NOW) =>
    debitOf({ ...DEBIT, ...change }, nowMs).call.callId;
  t.match(idOf({}), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.equal(idOf({ reason: null }, NOW + 1), idOf({}));
  const others: Partial<Movement>[] = [
    { kind: "topup" },
    { amountMicroVnd: -6n },
    { reference: "r2" },
    { accountId: "01900000-0000-7000-8000-00000000bbbb" },
  ];
  t.equal(new Set([{}, ...others].map((change) => idOf(change))).size, 5);
});

t.test("a debit of another version, or that takes nothing, cannot be read", async (t) => {
  const { text } = debitOf(DEBIT, NOW);
  for (const [from, to] of [
    ['"v":1', '"v":2'],
    ['"charged":5', '"charged":0'],
    ['"charged":5', '"charged":-5'],
    ['"adjustment"', '"gift"'],
  ] as const) {
    const entry = decodeEntry("7", text.replace(from, to));
    t.match(entry, { reason: /cannot read an entry/, call: { accountId: DEBIT.accountId } }, to);
  }
});
