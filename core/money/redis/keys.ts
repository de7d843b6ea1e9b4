import { bucketName } from "../../redis/buckets.ts";

/** The keys that operations on money use, in one epoch of a bucket. */
export interface EpochKeys {
  /** Count of scripts by member: see `money.lua`. */
  readonly members: string;
  readonly wallets: string;
  readonly holds: string;
  /** Exists once wallets may be loaded. */
  readonly acceptsLoads: string;
  /** The outbox of this process. */
  readonly outbox: string;
}

/** The names of a bucket's keys. All share a hash tag, so a script touches one node of a cluster. */
export class BucketKeys {
  /** `b07`. */
  readonly bucket: string;
  /** Prefix of every key of the bucket: `tollgate:{b07}:`. */
  readonly base: string;
  readonly epoch: string;
  /**
   * The keys that `epoch.lua` declares: `epoch`, and one that never exists. While a slot moves to another node, a cluster
   * runs a script at a node that has all declared keys, though others may still be elsewhere. A missing key among them makes
   * it refuse the script until the slot has moved.
   */
  readonly ofEpoch: readonly string[];
  /** How far the ledger was, as far as the wallets know. Belongs to no epoch. */
  readonly ledger: string;
  /** Names the ledger whose money the bucket has. */
  readonly home: string;
  /** Outboxes of dead gateways: see the README of this folder. */
  readonly orphans: string;

  constructor(prefix: string, index: number) {
    this.bucket = bucketName(index);
    this.base = `${prefix}:{${this.bucket}}:`;
    this.epoch = `${this.base}epoch`;
    this.ofEpoch = [this.epoch, `${this.base}none`];
    this.ledger = `${this.base}ledger`;
    this.home = `${this.base}home`;
    this.orphans = `${this.base}orphans`;
  }

  /** The result of a posted call, kept for as long as its post may be sent again. */
  call(callId: string): string {
    return `${this.base}d:${callId}`;
  }

  /** Exists while a hold with this API key is refused. */
  revoked(keyId: string): string {
    return `${this.base}revoked:${keyId}`;
  }

  outbox(epoch: string, process: string): string {
    return `${this.base}${epoch}:o:${process}`;
  }

  under(epoch: string, process: string): EpochKeys {
    const under = `${this.base}${epoch}:`;
    return {
      members: `${under}procs`,
      wallets: `${under}w`,
      holds: `${under}holds`,
      acceptsLoads: `${under}open`,
      outbox: this.outbox(epoch, process),
    };
  }
}
