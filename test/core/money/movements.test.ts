import t from "tap";
import type { CreditTotal, HoldStore } from "../../../core/money/hold-store.ts";
import { LateMovements } from "../../../core/money/late-movements.ts";
import { LIFETIMES } from "../../../core/money/lifetimes.ts";
import { Movements } from "../../../core/money/movements.ts";
import type { WalletHold } from "../../../core/money/wallet.ts";
import { ManualMachine } from "./manual-machine.ts";
import { StubLedger } from "./stub-ledger.ts";
import { movement } from "./wallet-fixtures.ts";

const WALLET = {
  accountId: "A",
  balanceMicroVnd: 5n,
  creditVersion: 1,
  creditedMicroVnd: 5n,
  limits: [],
};

/** Movements whose hold store replies as the test says. */
function stage() {
  const machine = new ManualMachine();
  const ledger = new StubLedger();
  ledger.addAccount("A");
  const released: (readonly string[])[] = [];
  const replies: (boolean | Error)[] = [];
  const credit = async ({ releasedCallIds }: CreditTotal) => {
    released.push(releasedCallIds);
    const reply = replies.shift() ?? true;
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const holdStore = { credit } as HoldStore;
  const late = new LateMovements(holdStore, ledger, machine);
  let held: WalletHold = { kind: "unavailable", reason: "the store is down" };
  const hold = () => held;
  const movements = new Movements({ holdStore, ledger, late, hold });
  const onHold = (result: WalletHold) => {
    held = result;
  };
  return { machine, ledger, movements, released, replies, onHold };
}

t.test("the hold of a movement is released once, with the movement", async (t) => {
  const { movements, released } = stage();
  await movements.apply(WALLET, "m1");
  await movements.apply(WALLET, null);
  t.strictSame(released, [["m1"], []]);
});

t.test("a hold that the wallet cannot do without waits for the next movement", async (t) => {
  const { movements, released, replies } = stage();
  replies.push(false);
  await movements.apply(WALLET, "m1");
  await movements.apply({ ...WALLET, accountId: "B" }, null);
  await movements.apply(WALLET, "m2");
  await movements.apply(WALLET, null);
  t.strictSame(released, [["m1"], [], ["m1", "m2"], []], "of the same account");
});

t.test("a hold whose release failed is released in the background, and then no more", async (t) => {
  const { machine, movements, released, replies } = stage();
  replies.push(new Error("the store is down"), new Error("still down"), true);
  await t.rejects(movements.apply(WALLET, "m1"), {
    name: "MovementPending",
    cause: { message: /down/ },
  });
  await machine.advance(2 * LIFETIMES.applyRetryMs);
  t.strictSame(released, [["m1"], ["m1"], ["m1"]]);
  await movements.apply(WALLET, null);
  t.strictSame(released.at(-1), []);
});

t.test("money that cannot be held is not taken away", async (t) => {
  const { ledger, movements, onHold, released } = stage();
  await ledger.credit(movement(100n));
  const take = () => movements.move(movement(-5n));
  await t.rejects(take(), /^the store is down$/);
  onHold({ kind: "stale" });
  await t.rejects(take(), /cannot hold the amount/);
  onHold({ kind: "short", limit: "wallet", availableMicroVnd: 4 });
  t.strictSame(await take(), { kind: "below_zero" });
  onHold({ kind: "no_account" });
  t.strictSame(await take(), { kind: "no_account" });
  t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 100n);
  t.strictSame(released, []);
});
