import { requireMicroVnd } from "../../contract/amount.ts";
import type {
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  WalletSnapshot,
} from "../../contract/hold-store.ts";
import { textOf } from "../../redis/reply.ts";
import type { Bucket } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import { asReply, isJoining, type Reply } from "./session.ts";
import { amountOf } from "./view.ts";
import type { RedisWallets } from "./wallets.ts";

interface HoldsOptions {
  readonly buckets: BucketMap;
  readonly wallets: RedisWallets;
  /** Reads a wallet from the ledger. */
  readonly readWallet: (accountId: string) => Promise<WalletSnapshot | undefined>;
  /** Why no hold is taken now, with so many taken already. */
  readonly refusal: (holds: number) => string | undefined;
}

/** A hold of a call that runs in this process. */
interface OwnHold {
  readonly bucket: Bucket;
  readonly keyId: string;
  readonly limits: readonly string[] | undefined;
  /** Of the bucket, when the hold was taken: one of an earlier epoch is gone. */
  epoch: string;
}

/** Money set aside for the calls that run in this process. */
export class Holds {
  private readonly options: HoldsOptions;
  private readonly own = new Map<string, OwnHold>();

  constructor(options: HoldsOptions) {
    this.options = options;
  }

  hold(request: HoldRequest): HoldResult | Promise<HoldResult> {
    const { callId, accountId, keyId, limits } = request;
    requireMicroVnd(request.amountMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.options.buckets.of(accountId);
    if (bucket.state === "joining") return { kind: "unknown" };
    if (bucket.state === "away") return { kind: "unavailable", reason: "redis is away" };
    const reason = this.options.refusal(this.own.size);
    if (reason !== undefined) return { kind: "unavailable", reason };
    const known = this.own.get(callId);
    const { epoch } = bucket;
    if (known === undefined) this.own.set(callId, { bucket, keyId, limits, epoch });
    else known.epoch = epoch;
    return this.send(bucket, request).catch((error: unknown) => {
      // Whether it was taken nobody knows; a later audit gives back what no call here holds.
      this.own.delete(callId);
      return isJoining(error) ? { kind: "unknown" } : unavailable(error);
    });
  }

  extend(request: ExtendRequest): Promise<ExtendResult> {
    requireMicroVnd(request.totalMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.options.buckets.of(request.accountId);
    return bucket.asMember(async () => {
      // Looked up at each attempt: the hold may go while the bucket is joined again.
      const hold = this.own.get(request.callId);
      if (hold === undefined) return { kind: "gone" };
      if (hold.epoch !== bucket.epoch) return this.holdAgain(request, hold);
      const { callId, totalMicroVnd, floorMicroVnd } = request;
      const args = [callId, String(totalMicroVnd), String(floorMicroVnd)];
      const [kind, amount, limit] = await bucket.run("extend", [], args, asReply);
      if (kind === "held") return { kind, amountMicroVnd: amountOf(amount) };
      if (kind === "short") {
        return { kind, limit: textOf(limit), availableMicroVnd: amountOf(amount) };
      }
      return { kind: "gone" };
    });
  }

  async void(callId: string, accountId: string): Promise<void> {
    this.own.delete(callId);
    const bucket = this.options.buckets.of(accountId);
    // Where this fails, an audit gives the hold back.
    if (bucket.state === "ready") await bucket.run("void", [], [callId], asReply).catch(() => {});
  }

  /** The call holds nothing any more: it was posted, or its movement is done. */
  forget(callId: string): void {
    this.own.delete(callId);
  }

  /** The leases of this process have ended: all its holds in the bucket are gone. */
  expireAll(bucket: Bucket): void {
    for (const [callId, hold] of this.own) {
      if (hold.bucket === bucket) this.own.delete(callId);
    }
  }

  /** Gives back holds in the name of this process that none of its calls has; `held` are all of them. */
  async audit(bucket: Bucket, held: readonly string[]): Promise<void> {
    const lost = held.filter((callId) => !this.own.has(callId));
    await Promise.all(lost.map((callId) => bucket.run("void", [], [callId], asReply)));
  }

  private send(bucket: Bucket, request: HoldRequest): Promise<HoldResult> {
    const { callId, accountId, keyId, amountMicroVnd, floorMicroVnd, creditVersion } = request;
    // Money that an operator takes away is not given back because a process ends: it has no key, and no lease.
    const holder = keyId === "" ? "" : bucket.process;
    const amounts = [String(amountMicroVnd), String(floorMicroVnd)];
    const version = creditVersion === undefined ? "" : String(creditVersion);
    const limits = limitsText(request.limits ?? null);
    const args = [callId, accountId, keyId, ...amounts, holder, version, limits];
    return bucket.run("hold", [bucket.keys.revoked], args, (reply) => {
      const result = readHold(reply);
      if (result.kind !== "held") this.own.delete(callId);
      return result;
    });
  }

  /** Redis has lost the hold of a call that runs: the call goes on where its wallet affords it anew. */
  private async holdAgain(extension: ExtendRequest, hold: OwnHold): Promise<ExtendResult> {
    const { callId, accountId, totalMicroVnd, floorMicroVnd } = extension;
    const { bucket, keyId, limits } = hold;
    const amounts = { amountMicroVnd: totalMicroVnd, floorMicroVnd };
    const { wallets, readWallet } = this.options;
    await wallets.load(accountId, () => readWallet(accountId));
    const request = { callId, accountId, keyId, ...amounts, ...(limits && { limits }) };
    const result = await this.send(bucket, request);
    if (result.kind === "held") hold.epoch = bucket.epoch;
    if (result.kind === "held" || result.kind === "short") return result;
    return { kind: "gone" };
  }
}

/** As scripts take them: `|<name>|<name>`. */
export function limitsText(limits: readonly string[] | null): string {
  return limits === null || limits.length === 0 ? "" : `|${limits.join("|")}`;
}

function readHold([kind, amount, limit]: Reply): HoldResult {
  switch (kind) {
    case "held":
      return { kind, amountMicroVnd: amountOf(amount) };
    case "short":
      return { kind, limit: textOf(limit), availableMicroVnd: amountOf(amount) };
    case "no_limit":
      return { kind, limit: textOf(amount) };
    case "revoked":
    case "stale":
    case "unknown":
      return { kind };
    default:
      throw new Error(`redis answered ${String(kind)} to a hold`);
  }
}

function unavailable(error: unknown): HoldResult {
  const why = error instanceof Error ? error.message : String(error);
  return { kind: "unavailable", reason: `redis is away: ${why}` };
}
