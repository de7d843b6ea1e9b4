import type { HoldStore } from "../../../core/money/hold-store.ts";
import type { MemoryLedger } from "../../support/memory-ledger.ts";

/** A hold store under test: started and empty. It can crash and restart. */
export interface HoldStoreUnderTest {
  readonly store: HoldStore;
  /** Kills the process with -9. Returns the store that a new process starts. */
  crash(): Promise<HoldStoreUnderTest>;
  /** Stops the store and deletes its data. */
  dispose(): Promise<void>;
}

/** Starts an empty store in front of a ledger. */
export type Create = (ledger: MemoryLedger) => Promise<HoldStoreUnderTest>;
