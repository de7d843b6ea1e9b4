import t from "tap";
import { entryOf } from "../../../../core/money/entry.ts";
import { Outbox } from "../../../../core/money/outbox.ts";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { Commits } from "../../../../core/money/redis/commits.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { recordedLog } from "../../../support/log.ts";
import { callIdOf, posting } from "../../../support/posting.ts";
import { ManualMachine } from "../manual-machine.ts";

/** The commits of a process in one bucket, whose Redis takes acknowledgements or not. */
function stage() {
  const machine = new ManualMachine();
  const state = {
    ...{ epoch: "100", isFailing: false, canCommit: true, ready: "ready" },
    keep: async () => {},
  };
  const acknowledged: string[] = [];
  const bucket = {
    name: "b00",
    outbox: new Outbox(),
    keys: new BucketKeys("t", 0),
    get epoch() {
      return state.epoch;
    },
    get state() {
      return state.ready;
    },
    run: async (_operation: string, _keys: string[], [, , ...args]: string[]) => {
      if (state.isFailing) throw new Error("no reply");
      for (let at = 0; at < args.length; at += 4) acknowledged.push(args[at] ?? "");
    },
  } as unknown as Bucket;
  const membership = {
    get canCommit() {
      return state.canCommit;
    },
    claimed: new Set<string>(),
  };
  const commits = new Commits({
    ...{ client: {} as never, buckets: [bucket], machine, log: recordedLog().log },
    memberships: new Map([[bucket, membership as unknown as Membership]]),
    watch: { keep: () => state.keep(), isHome: true },
  });
  const add = (callId: string, id: string) => {
    const call = posting({ callId, accountId: "A", costMicroVnd: 1 });
    commits.add(bucket, entryOf(`b00|${state.epoch}|me|${id}`, call, 1, 0));
  };
  /** Begins a read; returns the calls that it got so far, or undefined while it waits. */
  const read = (max: number, waitMs = 1_000) => {
    let calls: unknown;
    void commits.read(max, waitMs).then((entries) => {
      calls = entries.map(callIdOf);
    });
    return () => calls;
  };
  return { machine, state, acknowledged, bucket, commits, add, read };
}

t.test("a read waits for the first call, and returns it with the others of its turn", async (t) => {
  const { machine, add, read } = stage();
  const calls = read(10);
  await machine.advance(500);
  t.equal(calls(), undefined);
  add("c1", "1-0");
  add("c2", "2-0");
  await machine.advance(0);
  t.strictSame(calls(), ["c1", "c2"]);
});

t.test(
  "each read begins at another bucket, so that a busy one does not delay the others",
  async (t) => {
    const keys = (at: number) => new BucketKeys("t", at);
    const buckets = [0, 1].map(
      (at) => ({ name: `b0${at}`, keys: keys(at), outbox: new Outbox() }) as unknown as Bucket,
    );
    const membership = { canCommit: true, claimed: new Set<string>() } as unknown as Membership;
    const commits = new Commits({
      ...{ client: {} as never, buckets, machine: new ManualMachine(), log: recordedLog().log },
      memberships: new Map(buckets.map((bucket) => [bucket, membership])),
      watch: { keep: async () => {}, isHome: true },
    });
    for (const bucket of buckets) {
      const call = posting({ callId: `of ${bucket.name}`, accountId: "A", costMicroVnd: 1 });
      commits.add(bucket, entryOf(`${bucket.name}|1|me|1-0`, call, 1, 0));
    }
    const reads = [await commits.read(1, 0), await commits.read(1, 0), await commits.read(1, 0)];
    const [first, second, third] = reads.map((entries) => entries.map(callIdOf).join());
    t.not(first, second);
    t.equal(first, third);
  },
);

t.test("a stop ends a read that waits", async (t) => {
  const { machine, commits, read } = stage();
  const waiting = read(10);
  await machine.advance(10);
  commits.stop();
  await machine.advance(0);
  t.strictSame(waiting(), []);
  const next = read(10);
  await machine.advance(0);
  t.strictSame(next(), [], "and the next does not wait");
});

t.test(
  "no call is handed out while the ledger perhaps does not have this gateway as a member",
  async (t) => {
    const { machine, state, add, read } = stage();
    add("c1", "1-0");
    state.canCommit = false;
    const calls = read(10, 0);
    await machine.advance(0);
    t.strictSame(calls(), []);
  },
);

t.test("calls that are to be sent again are not committed until then", async (t) => {
  const { bucket, commits, add } = stage();
  add("c1", "1-0");
  add("c1", "1-0");
  add("c2", "2-0");
  t.equal(commits.size, 2);
  t.equal(commits.find("c2")?.posting?.callId, "c2");
  bucket.outbox.posted.clear();
  t.equal(commits.size, 0);
  t.strictSame([commits.find("c2"), await commits.read(10, 0)], [undefined, []]);
});

t.test("an acknowledgement that failed is repeated, once", async (t) => {
  const { state, acknowledged, bucket, commits, add } = stage();
  add("c1", "1-0");
  const entries = await commits.read(10, 0);
  state.isFailing = true;
  await commits.acknowledge(entries);
  t.equal(commits.size, 0, "it is committed");
  state.isFailing = false;
  await commits.acknowledgeRest(bucket);
  await commits.acknowledgeRest(bucket);
  t.strictSame(acknowledged, ["1-0"]);
});

t.test(
  "an acknowledgement waits for a bucket that is joined, and ends with its epoch",
  async (t) => {
    const { state, acknowledged, bucket, commits, add } = stage();
    add("c1", "1-0");
    state.ready = "joining";
    await commits.acknowledge(await commits.read(10, 0));
    t.strictSame(acknowledged, []);
    state.epoch = "200";
    state.ready = "ready";
    await commits.acknowledgeRest(bucket);
    t.strictSame(acknowledged, [], "the new epoch never had the entry");
  },
);

t.test("an acknowledgement waits until the progress of the ledger is kept", async (t) => {
  const { state, acknowledged, bucket, commits, add } = stage();
  add("c1", "1-0");
  state.keep = async () => {
    throw new Error("the disk is full");
  };
  await commits.acknowledge(await commits.read(10, 0));
  t.strictSame(acknowledged, []);
  state.keep = async () => {};
  await commits.acknowledgeRest(bucket);
  t.strictSame(acknowledged, ["1-0"]);
});
