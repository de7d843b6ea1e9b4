import { requireMicroVnd } from "../../catalogue/amount.ts";
import { messageOf } from "../../process/thrown.ts";
import { isOutOfMemory, RedisAway } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import type { ExtendRequest, ExtendResult, HoldRequest, HoldResult, Purse } from "../hold-store.ts";
import { loadWithPurses, pursesText } from "../purse.ts";
import { type Bucket, isJoining } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import { asReply, type Reply } from "./operations.ts";
import type { LedgerLookup } from "./store-options.ts";
import { amountOf } from "./view.ts";
import type { RedisWallets } from "./wallets.ts";

/** A hold without a reply may reach Redis late: the kernel sends what is left in a closed connection for some 100 s. */
const ROUNDS_OF_LOST = 128;

interface HoldsOptions {
  readonly buckets: BucketMap;
  readonly wallets: RedisWallets;
  /** Reads wallets and purses from the ledger. */
  readonly ledger: Pick<LedgerLookup, "wallet" | "purse">;
  /** Returns why no hold can be taken now, in addition to `holds` others; undefined if one can. */
  readonly refusal: (holds: number) => string | undefined;
}

/** A hold that this process took for a call. */
interface OwnHold {
  readonly bucket: Bucket;
  readonly keyId: string;
  readonly purses: readonly Purse[] | undefined;
  /** Epoch in which the hold was taken. Undefined once the leases of this process there have ended. */
  epoch: string | undefined;
}

/** Takes, extends and voids the holds of the calls that run in this process. */
export class Holds {
  private readonly own = new Map<string, OwnHold>();
  /** Calls whose last hold or void had no reply, so that Redis may have a hold that no call owns. */
  private readonly lost = new Map<string, { readonly bucket: Bucket; rounds: number }>();

  constructor(private readonly options: HoldsOptions) {}

  hold(request: HoldRequest): HoldResult | Promise<HoldResult> {
    const { callId, accountId, keyId, purses } = request;
    requireMicroVnd(request.amountMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.options.buckets.of(accountId);
    const refusal = this.refusal(bucket);
    if (refusal !== undefined) return refusal;
    const known = this.own.get(callId);
    const { epoch } = bucket;
    if (known === undefined) this.own.set(callId, { bucket, keyId, purses, epoch });
    else known.epoch = epoch;
    return this.send(bucket, request).catch((error: unknown) => {
      this.own.delete(callId);
      return isJoining(error) ? { kind: "unknown" } : unavailable(error);
    });
  }

  /** Returns why no money can be taken in a bucket now; undefined if it can. */
  refusal(bucket: Bucket): Extract<HoldResult, { kind: "unknown" | "unavailable" }> | undefined {
    if (bucket.state === "joining") return { kind: "unknown" };
    if (bucket.state === "away") {
      return { kind: "unavailable", reason: `Redis is unreachable: ${bucket.fault}` };
    }
    const reason = bucket.refusal?.reason ?? this.options.refusal(this.own.size);
    return reason === undefined ? undefined : { kind: "unavailable", reason };
  }

  extend(request: ExtendRequest): Promise<ExtendResult> {
    requireMicroVnd(request.totalMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.options.buckets.of(request.accountId);
    return bucket.asMember(async () => {
      // Look the hold up at each attempt: its lease may end while the bucket is joined again.
      const hold = this.own.get(request.callId);
      if (hold === undefined) return { kind: "gone" };
      if (hold.epoch !== bucket.epoch) return this.holdAgain(request, hold);
      const { callId, totalMicroVnd, floorMicroVnd } = request;
      const fields = [callId, String(totalMicroVnd), String(floorMicroVnd)];
      const [kind, amount, purse] = await bucket.run("extend", [], fields, asReply);
      if (kind === "held") return { kind, amountMicroVnd: amountOf(amount) };
      if (kind === "short") {
        return { kind, purse: textOf(purse), availableMicroVnd: amountOf(amount) };
      }
      return { kind: "gone" };
    });
  }

  async void(callId: string, accountId: string): Promise<void> {
    this.own.delete(callId);
    const bucket = this.options.buckets.of(accountId);
    try {
      if (bucket.state === "ready") return await bucket.run("void", [], [callId], () => {});
    } catch {}
    this.lose(bucket, callId);
  }

  /** Forgets the hold of a call that was posted. */
  forget(callId: string): void {
    this.own.delete(callId);
  }

  /** The leases of this process in a bucket have ended: each hold there is taken again before it is extended. */
  expireAll(bucket: Bucket): void {
    for (const hold of this.own.values()) if (hold.bucket === bucket) hold.epoch = undefined;
  }

  /**
   * Voids the holds that calls of a ready bucket may have left, in the rounds 1, 2, 4 and so on after each was lost. A call that runs
   * again keeps its hold, and is looked at once it has ended: the lost hold may arrive after its post. Never rejects.
   */
  async round(bucket: Bucket): Promise<void> {
    await Promise.allSettled(
      Array.from(this.lost, async ([callId, lost]) => {
        if (lost.bucket !== bucket || this.own.has(callId)) return;
        const round = lost.rounds + 1;
        if ((round & (round - 1)) === 0) await bucket.run("void", [], [callId], () => {});
        lost.rounds = round;
        if (round >= ROUNDS_OF_LOST && this.lost.get(callId) === lost) this.lost.delete(callId);
      }),
    );
  }

  private lose(bucket: Bucket, callId: string): void {
    this.lost.set(callId, { bucket, rounds: 0 });
  }

  private send(bucket: Bucket, request: HoldRequest): Promise<HoldResult> {
    const { callId, accountId, keyId, amountMicroVnd, floorMicroVnd, creditVersion } = request;
    const amounts = [String(amountMicroVnd), String(floorMicroVnd)];
    const version = creditVersion === undefined ? "" : String(creditVersion);
    const text = request.purses ? pursesText(request.purses) : "";
    const fields = [callId, accountId, ...amounts, version, text];
    const read = (reply: Reply) => {
      const result = readHold(reply);
      if (result.kind !== "held") this.own.delete(callId);
      return result;
    };
    return bucket
      .run("hold", [bucket.keys.revoked(keyId)], fields, read)
      .catch((error: unknown) => {
        // Otherwise Redis took none, or took it in an epoch that has ended, with its holds.
        if (!isOutOfMemory(error) && !isJoining(error) && !(error instanceof RedisAway))
          this.lose(bucket, callId);
        throw error;
      });
  }

  /**
   * Takes the hold of a running call again, after Redis lost it, or another gateway voided it. Returns `short` if the wallet
   * cannot afford it, `gone` if the call was posted since: no post would end its hold any more.
   */
  private async holdAgain(extension: ExtendRequest, hold: OwnHold): Promise<ExtendResult> {
    const { callId, accountId, totalMicroVnd, floorMicroVnd } = extension;
    const { bucket, keyId, purses } = hold;
    const amounts = { amountMicroVnd: totalMicroVnd, floorMicroVnd };
    const { wallets, ledger } = this.options;
    const names = (purses ?? []).map(({ name }) => name);
    await loadWithPurses(wallets, ledger, accountId, names);
    if (!this.own.has(callId)) return { kind: "gone" };
    const request = { callId, accountId, keyId, ...amounts, ...(purses && { purses }) };
    const result = await this.send(bucket, request);
    if (result.kind === "short") return result;
    if (result.kind !== "held") return { kind: "gone" };
    if (!this.own.has(callId)) {
      await this.void(callId, accountId);
      return { kind: "gone" };
    }
    hold.epoch = bucket.epoch;
    return result;
  }
}

/** The names of purses as scripts take them: `|<name>|<name>`, "" for none. */
export function namesText(purses: readonly string[] | null): string {
  return purses === null || purses.length === 0 ? "" : `|${purses.join("|")}`;
}

function readHold([kind, amount, purse]: Reply): HoldResult {
  switch (kind) {
    case "held":
      return { kind, amountMicroVnd: amountOf(amount) };
    case "short":
      return { kind, purse: textOf(purse), availableMicroVnd: amountOf(amount) };
    case "revoked":
    case "stale":
    case "unknown":
      return { kind };
    default:
      throw new Error(`Redis replied ${String(kind)} to a hold`);
  }
}

function unavailable(error: unknown): HoldResult {
  const why = messageOf(error);
  return { kind: "unavailable", reason: `Redis failed: ${why}` };
}
