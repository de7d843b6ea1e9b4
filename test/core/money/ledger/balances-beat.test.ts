import t from "tap";
import { BalancesLock } from "../../../../core/money/ledger/balances-lock.ts";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { recordedLog } from "../../../support/log.ts";
import { ManualMachine } from "../manual-machine.ts";

t.test("a gateway shows every two seconds that it still has the balances", async (t) => {
  const machine = new ManualMachine();
  const statements: string[] = [];
  const query = async (text: string) => {
    const [first = ""] = text.trim().split(" ");
    statements.push(first);
    return first === "insert" || first === "update" ? [{}] : [];
  };
  const lock = new BalancesLock({
    ...{ database: { query } as never, session: "s", path: "/data", folder: "f", machine },
    ...{ forgetWallets: () => true, log: recordedLog().log },
  });
  await lock.start();
  await machine.advance(0);
  const beats = () => statements.filter((first) => first === "update").length;
  const before = beats();
  await machine.advance(10 * LIFETIMES.balancesBeatMs);
  t.equal(beats() - before, 10);
  t.equal(lock.refusal(), undefined);
  const stopped = lock.stop(true);
  await machine.advance(0);
  await stopped;
  t.equal(statements.at(-1), "delete");
});
