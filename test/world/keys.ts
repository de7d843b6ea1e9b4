import type { CallerKey } from "../../core/accounts/account.ts";
import type { HoldStore, Purse } from "../../core/money/hold-store.ts";
import type { AwaitableVerdict, Plugin } from "../../core/plugin/plugin.ts";
import { unchangedRequest } from "../../core/plugin/upstream-request.ts";
import { refuse } from "../../core/wire/refusal.ts";
import type { LedgerServer } from "./ledger-server.ts";
import { modelNamed } from "./model.ts";
import type { SimulatedProcess } from "./process.ts";

/**
 * Time between two readings of the keys that other processes have revoked, as `core/accounts/key-changes.ts` does it.
 */
const POLL_MS = 1_000;

interface KeysOptions {
  readonly process: SimulatedProcess;
  readonly ledger: LedgerServer;
  readonly holdStore: HoldStore;
}

/**
 * API keys as one gateway knows them: the revocations that it has read from the ledger, and those that the hold store
 * enforces.
 */
export class SimulatedKeys {
  /** The revoked keys; undefined until the first reading. */
  private revoked: ReadonlySet<string> | undefined;

  constructor(private readonly options: KeysOptions) {}

  start(): void {
    const poll = () => {
      this.options.process.after(POLL_MS, poll);
      this.read().catch(() => {});
    };
    poll();
  }

  /** Revokes a key. Once this resolves, no process grants a hold to the key. */
  async revoke(keyId: string, accountId: string): Promise<void> {
    const { process, ledger, holdStore } = this.options;
    await ledger.request(process, "revoke", (books) => books.revokedKeys.add(keyId));
    // Before the first reading, this one key would look like all that are revoked.
    if (this.revoked !== undefined) this.revoked = new Set(this.revoked).add(keyId);
    await holdStore.revoke(keyId, accountId);
  }

  /** Reads a key that the hold store refused, as `CachedKeys.refused` does. */
  async refused(key: CallerKey): Promise<CallerKey> {
    const isRevoked = (await this.read()).has(key.id);
    if (!isRevoked) await this.options.holdStore.restore(key.id, key.accountId);
    return { ...key, status: isRevoked ? "revoked" : "active", accountStatus: "active" };
  }

  /** Returns undefined if the gateway does not know that the key was revoked. */
  verdict(keyId: string): AwaitableVerdict {
    const decide = (revoked: ReadonlySet<string>) =>
      revoked.has(keyId) ? refuse.unauthenticated("The key was revoked.") : undefined;
    if (this.revoked !== undefined) return decide(this.revoked);
    return this.read().then(decide, () => refuse.unavailable("The key cannot be read."));
  }

  private async read(): Promise<ReadonlySet<string>> {
    const { process, ledger } = this.options;
    this.revoked = await ledger.request(process, "keys", (books) => new Set(books.revokedKeys));
    return this.revoked;
  }
}

/** Replaces `auth`, `alias` and `translate`, which move no money. Without `keys`, no key is ever revoked. */
export function knownCaller(keys: SimulatedKeys | undefined): Plugin {
  return {
    name: "known-caller",
    admit(call) {
      const id = call.headers["x-sim-key"] ?? "";
      const key = {
        id,
        accountId: call.headers["x-sim-account"] ?? "",
        creditVersion: Number.MAX_SAFE_INTEGER,
        discountBps: 0,
        discounts: [],
      };
      call.key = key as unknown as CallerKey;
      const purses: Purse[] = JSON.parse(call.headers["x-sim-purses"] ?? "[]");
      call.purses = purses.map((purse) => ({
        ...purse,
        refusal: () => refuse.insufficientBalance(`${purse.name} does not cover this call.`),
      }));
      return keys?.verdict(id);
    },
    request(call) {
      call.model = modelNamed(call.body.read("model"));
      call.upstream = unchangedRequest(call);
      return undefined;
    },
  };
}
