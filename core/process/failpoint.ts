import type { LineLog } from "./log.ts";

/**
 * The points between two steps of money at which a crash matters. Each has a test that kills a process there: see
 * `test/chaos/failpoints.test.ts`, for top-ups and vouchers their `crashes.test.ts` in `test/plugins`, for approvals
 * `test/plugins/operators/crash.test.ts`, and for messages `test/plugins/messages/outbox.test.ts`.
 */
export const FAILPOINTS = [
  // Before and after each step of a call. The last byte of the reply leaves after `post.after`.
  "hold.before",
  "hold.after",
  "extend.before",
  "extend.after",
  "post.before",
  "post.after",
  "void.before",
  "void.after",
  // Steps between the outbox and the ledger.
  "commit.read",
  "commit.committed",
  "commit.acknowledged",
  // A credit of an operator: committed to the ledger, applied to the hold store. A debit: posted, committed.
  "credit.committed",
  "credit.applied",
  // A large movement that a second person has approved, before it is made.
  "approval.approved",
  "debit.posted",
  "debit.committed",
  // A bank transfer: received; recorded with its account; credited; its bonus decided; its bonus credited; marked as
  // credited, before the reply.
  "topup.notified",
  "topup.recorded",
  "topup.credited",
  "topup.bonus.decided",
  "topup.bonus.credited",
  "topup.marked",
  // A voucher: a use is taken; credited; marked as credited, before the reply.
  "voucher.claimed",
  "voucher.credited",
  "voucher.marked",
  // A message of the outbox: taken by the mail server or channel, and not marked as sent.
  "message.sent",
  // Posts of calls that ended while Redis was down: written to the spool; replayed; in Redis, and still in the spool.
  "spool.kept",
  "spool.replaying",
  "spool.resent",
  // A wallet is loaded from the ledger into the hold store.
  "wallet.read",
  "wallet.loaded",
  // A bucket of Redis gets a new epoch: its name is in the ledger; it has begun in Redis.
  "epoch.named",
  "epoch.begun",
  "bucket.joined",
  "bucket.requeued",
  "bucket.loadable",
  // Another process's leases end, because it is silent.
  "lease.reaped",
  "lease.claimed",
  "lease.finished",
  // The steps of a restore by an operator, in `test/chaos/backup-drill.test.ts`: the wallets are dropped; the loss of
  // commits is accepted.
  "restore.epochs",
  "restore.accepted",
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

const VARIABLE = "TOLLGATE_FAILPOINT";

interface Armed {
  readonly name: Failpoint;
  /** How many more times the point is passed before the process dies there. */
  passes: number;
}

const armed = parse(process.env[VARIABLE]);

/** Kills this process with SIGKILL if the environment names this point; otherwise does nothing. */
export const failpoint: (name: Failpoint) => void = armed
  ? (name) => {
      if (name !== armed.name) return;
      if (armed.passes === 0) process.kill(process.pid, "SIGKILL");
      armed.passes -= 1;
    }
  : () => {};

/** Logs that a failpoint is armed, so that the kill does not come as a surprise. */
export function announceFailpoint(log: LineLog): void {
  if (armed === undefined) return;
  log.warn({ failpoint: armed.name }, `${VARIABLE} is set; this process will kill itself there`);
  log.flush();
}

/** Parses `post.after`, or `post.after:3` for the third time the point is reached. Throws for any other text. */
function parse(text: string | undefined): Armed | undefined {
  if (text === undefined || text === "") return undefined;
  const [wanted, count = "1"] = text.split(":");
  const name = FAILPOINTS.find((point) => point === wanted);
  if (name === undefined || !/^[1-9]\d{0,8}$/.test(count)) {
    throw new Error(`${VARIABLE}: ${text} is not a failpoint; use ${FAILPOINTS.join(", ")}`);
  }
  return { name, passes: Number(count) - 1 };
}
