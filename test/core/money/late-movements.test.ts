import t from "tap";
import { LateMovements } from "../../../core/money/late-movements.ts";
import { ManualMachine } from "./manual-machine.ts";
import { StubLedger } from "./stub-ledger.ts";

const MOVEMENT = {
  accountId: "A",
  amountMicroVnd: 5n,
  reference: "r1",
  kind: "topup",
  reason: null,
} as const;

t.test("a movement whose commit is in doubt is repeated until it is done", async (t) => {
  const machine = new ManualMachine();
  const late = new LateMovements({} as never, new StubLedger(), machine);
  let tries = 0;
  const done = late.complete(MOVEMENT, async () => {
    tries += 1;
    if (tries < 3) throw new Error("the ledger is down");
  });
  await machine.advance(60_000);
  await done;
  t.equal(tries, 3);
});

t.test("the same movement is repeated by one loop at a time", async (t) => {
  const machine = new ManualMachine();
  const late = new LateMovements({} as never, new StubLedger(), machine);
  const tried: string[] = [];
  const first = late.complete(MOVEMENT, async () => {
    tried.push("first");
    if (tried.length < 2) throw new Error("the ledger is down");
  });
  await late.complete(MOVEMENT, async () => void tried.push("second"));
  await machine.advance(60_000);
  await first;
  t.strictSame(tried, ["first", "first"]);
});
