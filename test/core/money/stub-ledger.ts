import type { WalletSnapshot } from "../../../core/money/hold-store.ts";
import type {
  CreditResult,
  Ledger,
  QuarantinedCall,
  TopUpSums,
} from "../../../core/money/ledger.ts";
import type { Movement, ReadableEntry } from "../../../core/money/outbox-entry.ts";
import type { UsageRecord } from "../../../core/money/usage-fields.ts";
import { MemoryLedger } from "../../support/memory-ledger.ts";

type Operation = "commit" | "credit" | "wallet";

/** The ledger in memory; a test can make its operations fail or wait. */
export class StubLedger extends MemoryLedger implements Ledger {
  readonly calls = { commit: 0, credit: 0, wallet: 0 };
  /** Called before an operation; it may reject or wait. */
  before: (operation: Operation) => Promise<void> = async () => {};
  /** Called after an operation took effect. A rejection simulates a commit whose reply was lost. */
  after: (operation: Operation) => Promise<void> = async () => {};

  override commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    return this.around("commit", () => super.commit(entries));
  }

  override credit(movement: Movement): Promise<CreditResult> {
    return this.around("credit", () => super.credit(movement));
  }

  override wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    return this.around("wallet", () => super.wallet(accountId));
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  async ping(): Promise<void> {}
  async topUps(): Promise<TopUpSums> {
    return { totalMicroVnd: 0n, periodMicroVnd: 0n };
  }
  async quarantineList(): Promise<QuarantinedCall[]> {
    return [];
  }
  async quarantinedCall(): Promise<QuarantinedCall | undefined> {
    return undefined;
  }
  async call(): Promise<undefined> {}
  async usage(): Promise<UsageRecord[]> {
    return [];
  }
  async searchCalls() {
    return { records: [], next: undefined };
  }

  private async around<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    this.calls[operation] += 1;
    await this.before(operation);
    const result = await work();
    await this.after(operation);
    return result;
  }
}
