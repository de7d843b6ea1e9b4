import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Purse } from "../../../../core/money/hold-store.ts";
import { MembershipEnded } from "../../../../core/money/ledger-epochs.ts";
import { isReadable } from "../../../../core/money/outbox-entry.ts";
import { loadWithPurses, ofKey, walletKey } from "../../../../core/money/purse.ts";
import type { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import { MemoryLedger } from "../../../support/memory-ledger.ts";
import { posting } from "../../../support/posting.ts";
import { type StoreOptions, startStore, type TestStore } from "./store.ts";

const QUIET_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

interface CallOptions {
  readonly hold?: number;
  readonly cost?: number;
  readonly extendTo?: number;
  readonly purses?: readonly Purse[];
}

/** The result of one call. */
export type CallEnd = "posted" | "voided" | "short" | "refused";

/**
 * A few gateways on one Redis, with one ledger. Calls hold, extend and post, committers commit. At the end every µđ is
 * accounted for.
 */
export class World {
  readonly ledger = new MemoryLedger();
  readonly gateways: TestStore[] = [];
  /** Cost of every call whose post resolved: each must be charged once. */
  readonly posted = new Map<string, number>();
  readonly ends: Record<CallEnd, number> = { posted: 0, voided: 0, short: 0, refused: 0 };
  private readonly credited = new Map<string, bigint>();
  /** The keys of all purses that calls named. */
  private readonly purses = new Set<string>();
  private readonly committers: Promise<void>[] = [];
  private readonly paused = new Map<
    RedisHoldStore,
    { resumed: Promise<void>; resume: () => void }
  >();
  private readonly dead = new Set<RedisHoldStore>();
  private stopping = false;
  private readonly options: StoreOptions;

  constructor(options: StoreOptions) {
    const { ledger } = this;
    this.options = {
      prefix: `test-${randomUUID()}`,
      ledger,
      ...options,
    };
  }

  async addGateway(options: Partial<StoreOptions> = {}): Promise<TestStore> {
    const gateway = await startStore({ ...this.options, ...options });
    this.gateways.push(gateway);
    this.committers.push(this.commitAll(gateway.store));
    return gateway;
  }

  async addAccount(accountId: string, amountMicroVnd: bigint): Promise<void> {
    this.ledger.addAccount(accountId);
    this.credited.set(accountId, amountMicroVnd);
    const reference = `start ${accountId}`;
    const movement = { accountId, amountMicroVnd, reference, kind: "topup", reason: null } as const;
    await this.ledger.credit(movement);
  }

  /** Runs one call from hold to post. Returns `refused` if the store is unavailable. */
  async call(
    store: RedisHoldStore,
    accountId: string,
    options: CallOptions = {},
  ): Promise<CallEnd> {
    const end = await this.runCall(store, accountId, options);
    this.ends[end] += 1;
    return end;
  }

  private async runCall(
    store: RedisHoldStore,
    accountId: string,
    { hold = 1_000, cost = 700, extendTo = 0, purses = [] }: CallOptions,
  ): Promise<CallEnd> {
    const callId = randomUUID();
    const amounts = { amountMicroVnd: hold, floorMicroVnd: hold };
    const request = { callId, accountId, keyId: "K", ...amounts, purses };
    const names = purses.map(({ name }) => name);
    for (const name of names) this.purses.add(walletKey(accountId, name));
    let held = await store.hold(request);
    for (let attempt = 0; held.kind === "unknown" && attempt < 3; attempt += 1) {
      await loadWithPurses(store, this.ledger, accountId, names);
      held = await store.hold(request);
    }
    if (held.kind === "short") return "short";
    if (held.kind !== "held") return "refused";
    if (extendTo > 0) {
      const request = { callId, accountId, totalMicroVnd: extendTo, floorMicroVnd: extendTo };
      await store.extend(request).catch(() => {});
    }
    if (cost === 0) {
      await store.void(callId, accountId);
      return "voided";
    }
    this.posted.set(callId, cost);
    await store.post(posting({ callId, accountId, costMicroVnd: cost, purses: names }));
    return "posted";
  }

  /** Waits until every gateway has committed and acknowledged all posts. */
  async quiet(): Promise<void> {
    const deadline = performance.now() + QUIET_TIMEOUT_MS;
    for (;;) {
      const problem = await this.problem();
      if (problem === undefined) return;
      assert.ok(performance.now() < deadline, problem);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /**
   * Checks that every posted call is charged its cost once, that no other call is charged, and that both stores agree.
   */
  async check(): Promise<void> {
    await this.quiet();
    const charged = new Map(
      [...this.ledger.charges].map(([callId, { chargedMicroVnd }]) => [callId, chargedMicroVnd]),
    );
    assert.deepEqual(charged, this.posted);
  }

  /** Ends a gateway like a kill -9, and removes it from the checks. */
  async kill(gateway: TestStore): Promise<void> {
    this.gateways.splice(this.gateways.indexOf(gateway), 1);
    this.dead.add(gateway.store);
    this.resume(gateway.store);
    await gateway.die();
  }

  async dispose(): Promise<void> {
    this.stopping = true;
    for (const store of this.stores) this.resume(store);
    await Promise.all(this.committers);
    await Promise.all(this.gateways.map((gateway) => gateway.dispose()));
  }

  /** The live gateways, over which calls are spread. */
  get stores(): RedisHoldStore[] {
    return this.gateways.map((gateway) => gateway.store);
  }

  private async problem(): Promise<string | undefined> {
    for (const [at, { store }] of this.gateways.entries()) {
      if (store.uncommittedCalls() > 0)
        return `gateway ${at} has uncommitted calls: ${store.uncommittedCalls()}`;
    }
    for (const callId of this.posted.keys()) {
      if (!this.ledger.charges.has(callId)) return `call ${callId} is not in the ledger`;
    }
    const [first] = this.stores;
    for (const accountId of this.credited.keys()) {
      const wallet = await this.ledger.wallet(accountId);
      const balances = await first?.balances(accountId).catch(() => "away" as const);
      if (balances === "away") return "redis is unreachable";
      if (balances === undefined) continue;
      const { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd } = balances;
      const parts = `available ${availableMicroVnd} held ${heldMicroVnd} uncommitted ${uncommittedMicroVnd}`;
      const total = BigInt(availableMicroVnd + heldMicroVnd + uncommittedMicroVnd);
      if (heldMicroVnd > 0 || uncommittedMicroVnd > 0 || total !== wallet?.balanceMicroVnd) {
        return `${accountId}: ${parts}, but the ledger has ${wallet?.balanceMicroVnd}`;
      }
    }
    for (const key of this.purses) {
      const { accountId, purse } = ofKey(key);
      const { balanceMicroVnd } = await this.ledger.purse(accountId, purse ?? "");
      const found = await first?.balances(accountId, purse).catch(() => "away" as const);
      if (found === "away") return "redis is unreachable";
      if (found === undefined) continue;
      const total = found.availableMicroVnd + found.heldMicroVnd + found.uncommittedMicroVnd;
      const isQuiet = found.heldMicroVnd === 0 && found.uncommittedMicroVnd === 0;
      if (!isQuiet || BigInt(total) !== balanceMicroVnd)
        return `${key}: ${JSON.stringify(found)}, but the ledger has ${balanceMicroVnd}`;
    }
    return undefined;
  }

  /** Makes the ledger unavailable for this gateway until `resume`. */
  pause(store: RedisHoldStore): void {
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    this.paused.set(store, { resumed, resume });
  }

  resume(store: RedisHoldStore): void {
    this.paused.get(store)?.resume();
    this.paused.delete(store);
  }

  private async commitAll(store: RedisHoldStore): Promise<void> {
    while (!this.stopping && !this.dead.has(store)) {
      await this.paused.get(store)?.resumed;
      const entries = (await store.read(100, 20)).filter(isReadable);
      await this.paused.get(store)?.resumed;
      if (this.dead.has(store)) return;
      // A stopped store does not wait, so without this timer the loop would let no other event happen.
      if (entries.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        continue;
      }
      try {
        await this.ledger.commit(entries);
        await store.acknowledge(entries);
      } catch (error) {
        if (!(error instanceof MembershipEnded)) throw error;
        store.refused(entries);
      }
    }
  }
}

/** Runs `work` repeatedly in `workers` lanes until `isOver` returns true. */
export async function inLanes(
  workers: number,
  isOver: () => boolean,
  work: (turn: number) => Promise<unknown>,
): Promise<void> {
  let turn = 0;
  const lane = async () => {
    while (!isOver()) {
      turn += 1;
      await work(turn);
      await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: workers }, lane));
}
