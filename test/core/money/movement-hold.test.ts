import t from "tap";
import type { Credit } from "../../../core/money/ledger.ts";
import { isMovementHold, movementHoldId, movementOf } from "../../../core/money/movement-hold.ts";

const held = (callId: string) => ({ callId, accountId: "B", amountMicroVnd: 9 });

t.test("the hold of a movement names the whole movement", async (t) => {
  for (const [kind, reference] of [
    ["adjustment", "r1"],
    ["topup", "a:b\nc:"],
    ["adjustment", ""],
  ] as const) {
    const movement: Credit = {
      accountId: "A",
      amountMicroVnd: -5n,
      reference,
      kind,
      reason: "of an operator",
    };
    const id = movementHoldId(movement);
    t.ok(isMovementHold(id));
    t.strictSame(movementOf(held(id)), { ...movement, reason: null }, id);
  }
});

t.test("a call is no movement", async (t) => {
  t.notOk(isMovementHold("01900000-0000-7000-8000-00000000aaaa"));
  t.notOk(isMovementHold("a movement:"));
});
