import t from "tap";
import { until } from "../../support/until.ts";
import { movement, withStores } from "./wallet-fixtures.ts";

t.test("a movement waits for the one before it of its account, and for no other", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    ledger.addAccount("B");
    const begun: string[] = [];
    const release: (() => void)[] = [];
    const { credit } = ledger;
    ledger.credit = async (each) => {
      begun.push(`${each.accountId} ${each.reference}`);
      await new Promise<void>((resolve) => release.push(resolve));
      return credit.call(ledger, each);
    };
    const all = [
      wallets.credit(movement(1n, "r1")),
      wallets.credit(movement(2n, "r2")),
      wallets.credit({ ...movement(4n, "r3"), accountId: "B" }),
      wallets.credit(movement(8n, "r4")),
    ];
    await until("the first of each account began", () => begun.length === 2);
    t.strictSame(begun, ["A r1", "B r3"]);
    for (let at = 0; at < all.length; at += 1) {
      await until("a movement waits for the ledger", () => release.length > at);
      release[at]?.();
    }
    await Promise.all(all);
    t.strictSame(begun, ["A r1", "B r3", "A r2", "A r4"]);
  }),
);
