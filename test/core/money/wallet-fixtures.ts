import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../core/money/embedded/store.ts";
import type { Movement } from "../../../core/money/outbox-entry.ts";

import { createStoredWallets, type StoredWallets } from "../../../core/money/stored-wallets.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import { StubLedger } from "./stub-ledger.ts";

export interface Stores {
  readonly holdStore: EmbeddedHoldStore;
  readonly ledger: StubLedger;
  readonly wallets: StoredWallets;
  readonly logged: ReturnType<typeof recordedLog>;
}

/** Runs `body` with a hold store on a new folder, a ledger in memory with account A, and wallets over both. */
export async function withStores(body: (stores: Stores) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-wallets-"));
  const logged = recordedLog();
  const holdStore = createEmbeddedHoldStore({
    journal: { folder, bytesMax: 10_000_000, sync: false, log: logged.log },
    outboxEntriesMax: 10_000,
    history: new MemoryHistory(),
  });
  await holdStore.start();
  const ledger = new StubLedger();
  ledger.addAccount("A");
  try {
    await body({ holdStore, ledger, wallets: createStoredWallets({ holdStore, ledger }), logged });
  } finally {
    await holdStore.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

let references = 0;

export function movement(amountMicroVnd: bigint, reference?: string): Movement {
  references += 1;
  return {
    accountId: "A",
    amountMicroVnd,
    reference: reference ?? `m${references}`,
    kind: amountMicroVnd < 0n ? "adjustment" : "topup",
    reason: null,
  };
}

export function holdRequest(callId: string, amountMicroVnd: number, accountId = "A") {
  return { callId, accountId, keyId: "K", amountMicroVnd, floorMicroVnd: amountMicroVnd };
}
