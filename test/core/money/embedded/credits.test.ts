import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../../core/money/embedded/store.ts";
import type { CreditTotal, WalletSnapshot } from "../../../../core/money/hold-store.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";

const READ: WalletSnapshot = {
  accountId: "A",
  balanceMicroVnd: 100n,
  creditVersion: 1,
  creditedMicroVnd: 100n,
};

/** The movement that brings the total of account A to this, as its version. */
const total = (creditVersion: number, creditedMicroVnd: bigint): CreditTotal => ({
  accountId: "A",
  creditVersion,
  creditedMicroVnd,
});

t.test("movements of a wallet apply once, in any order", async (t) => {
  let store: EmbeddedHoldStore;
  let folder: string;

  t.beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-hold-store-"));
    const { log } = recordedLog();
    store = createEmbeddedHoldStore({
      journal: { folder, bytesMax: 1_000_000, sync: false, log },
      outboxEntriesMax: 100,
      history: new MemoryHistory(),
    });
    await store.start();
  });
  t.afterEach(async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const available = () => store.balances("A")?.availableMicroVnd;

  t.test("while the wallet is loaded", async (t) => {
    await store.load("A", async () => READ);
    store.credit(total(3, 170n));
    t.equal(available(), 170);
    store.credit(total(2, 150n));
    store.credit(total(3, 170n));
    t.equal(available(), 170, "older, and the same again");
    store.credit(total(4, 120n));
    t.equal(available(), 120);
  });

  for (const [what, order] of [
    ["in order", [total(2, 150n), total(3, 170n)]],
    ["the newer first", [total(3, 170n), total(2, 150n)]],
  ] as const) {
    t.test(`while it is being loaded, ${what}`, async (t) => {
      await store.load("A", async () => {
        for (const movement of order) store.credit(movement);
        return READ;
      });
      t.equal(available(), 170);
    });
  }

  t.test("if the reading has them already", async (t) => {
    await store.load("A", async () => {
      store.credit(total(1, 100n));
      return READ;
    });
    t.equal(available(), 100);
  });

  t.test("not at all if the wallet would go below zero, to the µđ", async (t) => {
    await store.load("A", async () => READ);
    store.credit(total(2, -1n));
    t.equal(available(), 100);
    store.credit(total(2, 0n));
    t.equal(available(), 0);
  });
});
