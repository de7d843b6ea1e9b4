import { sleep, systemMachine } from "../../process/machine.ts";
import type {
  ExtendResult,
  HoldResult,
  HoldStore,
  HoldStoreHealth,
  Posted,
  RestoreResult,
} from "../hold-store.ts";
import type { JournalOptions } from "../journal/journal.ts";
import type { LedgerHistory } from "../ledger-history.ts";
import { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Posting } from "../outbox-entry.ts";
import { RevokedKeys } from "../revoked-keys.ts";
import { EmbeddedCalls } from "./calls.ts";
import { type IdleTimes, IdleWallets } from "./idle-wallets.ts";
import { FileKeptProgress } from "./kept-progress.ts";
import { PostedCalls } from "./posted-calls.ts";
import type { Wallet } from "./wallet.ts";
import { EmbeddedWallets } from "./wallets.ts";

interface EmbeddedHoldStoreOptions {
  readonly journal: JournalOptions;
  /** Holds are refused while at least this many posted calls are uncommitted (about 1.3 KB of memory each). */
  readonly outboxEntriesMax: number;
  /** Returns why all holds are refused, whatever the wallets have; undefined if they are not. */
  readonly refusal?: () => string | undefined;
  readonly history: LedgerHistory;
  readonly times?: IdleTimes;
}

const RESTORING = "wallets are being loaded from the ledger again";
const REVOKED: HoldResult = { kind: "revoked" };
const GONE: ExtendResult = { kind: "gone" };
/** Their commit takes a second or two, for which the first call of an account may wait. */
const REPLAYED_MAX = 20_000;
const noRefusal = () => undefined;

/**
 * The hold store of a single process: wallets and holds in memory, posted calls in a journal. A kill -9 loses the
 * holds, whose calls died too, and no posted call. Everything but `load` and `read` is synchronous.
 */
export function createEmbeddedHoldStore(options: EmbeddedHoldStoreOptions) {
  const { journal, outboxEntriesMax, history, times = LIFETIMES } = options;
  const { refusal: locked = noRefusal } = options;
  const { folder, log, machine = systemMachine } = journal;
  const kept = new FileKeptProgress(machine, folder, log);
  const watch = new LedgerWatch({ history, kept, machine, log });
  const revoked = new RevokedKeys(machine);
  const posted = new PostedCalls(journal, outboxEntriesMax);
  const wallets = new EmbeddedWallets(() => posted.replayed());
  const calls = new EmbeddedCalls(wallets, posted, machine);
  const idle = new IdleWallets(wallets, calls, machine, times);
  let isRestoring = false;

  async function start(): Promise<void> {
    await posted.start();
    try {
      await watch.start();
    } catch (error) {
      await posted.stop();
      throw error;
    }
    idle.start();
  }

  async function stop(): Promise<void> {
    await idle.stop();
    await watch.stop();
    await posted.stop();
  }

  function post(posting: Posting): Posted {
    const [result] = calls.postAll([posting]);
    if (result === undefined || result instanceof Error) throw result;
    return result;
  }

  /** The hold of a call can be 0 although the call costs something. */
  function isUnused(wallet: Wallet): boolean {
    const isIdle = wallet.heldMicroVnd === 0 && wallet.uncommittedMicroVnd === 0;
    return isIdle && !calls.walletsInUse().has(wallet);
  }

  /** Drops all wallets, to load them again. Returns false, and drops none, while one is in use. */
  function forgetWallets(): boolean {
    return calls.size === 0 && posted.size === 0 && wallets.forget();
  }

  function health(): HoldStoreHealth {
    const reason = refusal() ?? calls.refusal();
    if (reason === undefined) return healthOfReplay(posted.leftToReplay);
    const cause = reason === watch.refusal ? watch.cause : "journal_or_lock";
    return { kind: "away", reason, cause };
  }

  /** Waits until no wallet is in use: what a running call holds is only in this memory. */
  async function restoreFromLedger(): Promise<RestoreResult> {
    isRestoring = true;
    try {
      const deadlineMs = machine.monotonic() + LIFETIMES.restoreWaitMs;
      while (!forgetWallets()) {
        if (machine.monotonic() >= deadlineMs) {
          const reason = `${calls.size} calls are running, ${posted.size} are not committed`;
          return { kind: "busy", reason };
        }
        await sleep(machine, LIFETIMES.restorePollMs);
      }
      await watch.restored();
      return { kind: "restored" };
    } finally {
      isRestoring = false;
    }
  }

  function refusal(): string | undefined {
    return locked() ?? (isRestoring ? RESTORING : watch.refusal);
  }

  return {
    start,
    stop,
    hold(request) {
      // Checked first: a client with a revoked key must not try again.
      if (revoked.has(request.keyId)) return REVOKED;
      const reason = refusal();
      return reason === undefined ? calls.hold(request) : { kind: "unavailable", reason };
    },
    extend: (request) => (locked() === undefined ? calls.extend(request) : GONE),
    post,
    postAll: (postings) => calls.postAll(postings),
    debit(entry) {
      const reason = refusal();
      return reason === undefined ? calls.debit(entry) : { kind: "unavailable", reason };
    },
    void: (callId: string) => calls.void(callId),
    load: (...wallet) => wallets.load(...wallet),
    forget: (accountId, purse) => wallets.forgetOne(accountId, purse, isUnused),
    credit: (movement) => wallets.credit(movement),
    balances: (...wallet) => wallets.balances(...wallet),
    forgetWallets,
    async *loadedVersions() {
      yield* wallets.versions();
    },
    revoke: (keyId: string) => revoked.add(keyId),
    restore: (keyId: string) => revoked.delete(keyId),
    read: (max, waitMs) => posted.read(max, waitMs),
    acknowledge: (entries) => calls.acknowledge(entries),
    uncommittedCalls: () => posted.size,
    findUncommitted: (callId) => posted.outbox.posted.get(callId),
    unsent: () => [],
    unsyncedMs: () => posted.unsyncedMs,
    async *standing() {
      yield calls.standing();
      yield posted.standing();
    },
    health,
    ledgerWentBack: () => watch.wentBack,
    restoreFromLedger,
  } satisfies HoldStore & { forgetWallets(): boolean };
}

export type EmbeddedHoldStore = ReturnType<typeof createEmbeddedHoldStore>;

/** A wallet loads only once the ledger has the calls of before the start. */
function healthOfReplay(left: number): HoldStoreHealth {
  if (left <= REPLAYED_MAX) return { kind: "ok" };
  const reason = `${left} calls that were posted before the start are not in the ledger yet`;
  return { kind: "away", reason, cause: "replaying" };
}
