import type { LineLog } from "./log.ts";

/**
 * Every place where a crash can fall between two steps of money. Each has a test that stops there: see
 * `test/chaos/failpoints.test.ts`, and for those of top-ups `test/plugins/topup/crashes.test.ts`.
 */
export const FAILPOINTS = [
  // A call: around each of its steps. What comes after `post.after` is the last byte of the reply.
  "hold.before",
  "hold.after",
  "extend.before",
  "extend.after",
  "post.before",
  "post.after",
  "void.before",
  "void.after",
  // The way of a posted call from the outbox to the ledger.
  "commit.read",
  "commit.committed",
  "commit.acknowledged",
  // Movements other than calls: in the ledger, and not yet spendable; held, and not yet taken away.
  "credit.committed",
  "credit.told",
  "take.held",
  "take.committed",
  "take.told",
  // A bank transfer: told; recorded as somebody's; credited, and not marked so; marked, and not answered.
  "topup.told",
  "topup.recorded",
  "topup.credited",
  "topup.marked",
  // Posts of calls that ended while Redis was away: on the disk; in Redis again, and still on the disk.
  "spool.kept",
  "spool.replaying",
  "spool.offered",
  // A wallet is read from the ledger into the hold store.
  "wallet.read",
  "wallet.loaded",
  // A bucket of Redis goes on in a new epoch.
  "bucket.declared",
  "bucket.joined",
  "bucket.offered",
  "bucket.loadable",
  // The end of another process's leases.
  "lease.reaped",
  "lease.claimed",
  "lease.finished",
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

const VARIABLE = "TOLLGATE_FAILPOINT";

interface Armed {
  readonly name: Failpoint;
  /** How often it is reached before the process dies there. */
  passes: number;
}

const armed = parse(process.env[VARIABLE]);

/** Kills this process as a crash would where the environment names this point; does nothing otherwise. */
export const failpoint: (name: Failpoint) => void = armed
  ? (name) => {
      if (name !== armed.name) return;
      if (armed.passes === 0) process.kill(process.pid, "SIGKILL");
      armed.passes -= 1;
    }
  : () => {};

/** Says that this process will kill itself, which nobody should find out by seeing it happen. */
export function announceFailpoint(log: LineLog): void {
  if (armed === undefined) return;
  log.warn({ failpoint: armed.name }, `${VARIABLE} is set: this process will kill itself there`);
  log.flush();
}

/** `post.after`, or `post.after:3` for the third time that it is reached. Throws for anything else. */
function parse(text: string | undefined): Armed | undefined {
  if (text === undefined || text === "") return undefined;
  const [wanted, count = "1"] = text.split(":");
  const name = FAILPOINTS.find((point) => point === wanted);
  if (name === undefined || !/^[1-9]\d{0,8}$/.test(count)) {
    throw new Error(`${VARIABLE}: ${text} is no failpoint; there are ${FAILPOINTS.join(", ")}`);
  }
  return { name, passes: Number(count) - 1 };
}
