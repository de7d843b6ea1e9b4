import { randomUUID } from "node:crypto";
import t from "tap";
import { Bucket } from "../../../../core/money/redis/bucket.ts";
import { BucketMap } from "../../../../core/money/redis/bucket-map.ts";
import { Holds } from "../../../../core/money/redis/holds.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { sentOperations } from "./sent-operations.ts";

const BUCKETS = 8;
const PROCESSES = 50;
const ROUNDS_PER_AUDIT = 10;

interface Process {
  readonly holds: Holds;
  readonly buckets: BucketMap;
  /** Names of the buckets whose holds it has read. */
  readonly read: string[];
  /** Whether Redis replies to holds and voids. */
  isReplying: boolean;
  audit(): Promise<void>;
}

/** A process whose buckets are ready and have many members, with a Redis that only knows what a hold replies. */
function processOf(id: string, members: readonly string[]): Process {
  const state = { isReplying: true };
  const client = {
    evalsha: async (_sha: string, _keys: readonly string[], args: readonly string[]) => {
      if (!state.isReplying) throw new Error("cut");
      return [++scripts, ...sentOperations(args).map(() => "held\n5")];
    },
  } as unknown as RedisCommands;
  let scripts = 1;
  const read: string[] = [];
  const all = Array.from({ length: BUCKETS }, (_, at) => {
    const keys = new BucketKeys("test", at);
    const machine = systemMachine;
    const bucket = new Bucket(keys, { client, process: id, machine, onTrouble: () => {} });
    bucket.enter("1-a", "");
    bucket.set("ready", true);
    return bucket;
  });
  const buckets = new BucketMap(all);
  const view = { hasHolds: true, members: new Map(members.map((process) => [process, "1"])) };
  const memberships = all.map((bucket) => ({
    bucket,
    view,
    heldCalls() {
      read.push(bucket.name);
      return Promise.resolve([]);
    },
  })) as unknown as Membership[];
  // biome-ignore lint/suspicious/noExplicitAny: neither wallets nor the ledger are used
  const none = {} as any;
  const refusal = () => undefined;
  const auditRounds = ROUNDS_PER_AUDIT;
  const holds = new Holds({ buckets, wallets: none, ledger: none, refusal, auditRounds });
  return Object.assign(state, {
    holds,
    buckets,
    read,
    async audit() {
      read.length = 0;
      for (let round = 0; round < ROUNDS_PER_AUDIT; round += 1)
        for (const membership of memberships) await holds.round(membership);
    },
  });
}

t.test("fifty processes do not read the holds of all of them fifty times", async (t) => {
  const ids = Array.from({ length: PROCESSES }, () => randomUUID()).sort();
  const processes = ids.map((id) => processOf(id, ids));
  const readings = new Map<string, number>();
  for (const [at, process] of processes.entries()) {
    await process.audit();
    if (process.read.length !== BUCKETS) t.fail("a process that starts reads every bucket");
    // The processes started at different times.
    for (let more = at % 7; more > 0; more -= 1) await process.audit();
  }
  for (const process of processes) {
    await process.audit();
    for (const bucket of process.read) readings.set(bucket, (readings.get(bucket) ?? 0) + 1);
  }
  t.ok(
    [...readings.values()].every((count) => count < PROCESSES / 4),
    String([...readings.values()]),
  );
});

t.test(
  "a process reads all buckets again after as many audits as there are processes",
  async (t) => {
    const ids = ["a", "b", "c"];
    const process = processOf("b", ids);
    const counts: number[] = [];
    for (let at = 0; at < 7; at += 1) {
      await process.audit();
      counts.push(process.read.length);
    }
    t.strictSame(counts, [BUCKETS, 0, 0, BUCKETS, 0, 0, BUCKETS]);
  },
);

t.test("a hold or a void without a reply", async (t) => {
  const ids = Array.from({ length: PROCESSES }, () => randomUUID()).sort();
  const process = processOf(ids[0] ?? "", ids);
  await process.audit();
  const accountId = randomUUID();
  const { name } = process.buckets.of(accountId);
  const callId = randomUUID();
  const request = { callId, accountId, keyId: "key", amountMicroVnd: 5, floorMicroVnd: 5 };
  const isRead = async () => {
    await process.audit();
    return process.read.includes(name);
  };
  t.equal(await isRead(), false);

  process.isReplying = false;
  t.match(await process.holds.hold(request), { kind: "unavailable" });
  process.isReplying = true;
  t.strictSame([await isRead(), await isRead(), await isRead()], [true, true, false], "of a hold");

  t.match(await process.holds.hold(request), { kind: "held" });
  process.isReplying = false;
  await process.holds.void(callId, accountId);
  process.isReplying = true;
  t.strictSame([await isRead(), await isRead(), await isRead()], [true, true, false], "of a void");
});
