import t from "tap";
import { entryOf } from "../../../../core/money/entry.ts";
import { Outbox, type Sent } from "../../../../core/money/outbox.ts";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { Resender } from "../../../../core/money/redis/resender.ts";
import { callOf } from "../../../../core/money/unreadable.ts";
import { posting } from "../../../support/posting.ts";

const SENT: Sent = { epoch: "5", process: "me" };

type Reply = readonly string[];

/** One bucket with a queue of posts, a Redis that replies as the test says, and a ledger. */
class Queue {
  readonly sent: string[] = [];
  readonly done: string[] = [];
  readonly committed: string[] = [];
  readonly forgotten: string[] = [];
  readonly inLedger = new Set<string>();
  readonly loaded = new Set(["A"]);
  lookups = 0;
  /** The ledger does this before it replies. */
  asked: (callId: string) => Promise<void> = async () => {};
  reply: (callId: string) => Reply | Promise<Reply> = (callId) => this.posted(callId);
  readonly bucket: Pick<Bucket, "name" | "process" | "outbox"> & {
    epoch: string;
    isFull: boolean;
  };
  private readonly resender: Resender;

  constructor() {
    this.bucket = { name: "b07", epoch: "5", process: "me", outbox: new Outbox(), isFull: false };
    const ledger = {
      hasCall: async ({ callId }: { readonly callId: string }) => {
        this.lookups += 1;
        await this.asked(callId);
        return this.inLedger.has(callId);
      },
    };
    this.resender = new Resender({
      ledger: ledger as never,
      wallets: { load: async (accountId: string) => this.loaded.has(accountId) } as never,
      holds: { forget: (callId) => this.forgotten.push(callId) },
      commits: { add: (_bucket, { entryId }) => this.committed.push(entryId) },
      send: async (_bucket, entry) => {
        const { callId } = callOf(entry);
        this.sent.push(callId);
        return this.reply(callId);
      },
    });
  }

  posted(callId: string): Reply {
    return ["posted", "70", "0", `5|me|${callId}`];
  }

  get size(): number {
    return this.bucket.outbox.unsent.size;
  }

  /** `null`: sent by an earlier process. */
  add(callId: string, sent: Sent | null = SENT): void {
    const post = posting({ callId, accountId: "A", costMicroVnd: 70 });
    this.bucket.outbox.keep({
      entry: entryOf("", post, 70, 0),
      sent: sent ?? undefined,
      drop: () => this.done.push(callId),
    });
  }

  round(): Promise<void> {
    return this.resender.resendAll(this.bucket as Bucket);
  }
}

t.test("posts without a reply are sent again", async (t) => {
  t.test("in order, and each is done once Redis has it", async (t) => {
    const queue = new Queue();
    for (const callId of ["c1", "c2", "c3"]) queue.add(callId);
    await Promise.all([queue.round(), queue.round()]);
    t.strictSame(queue.sent, ["c1", "c2", "c3"]);
    t.strictSame([queue.done, queue.forgotten], [queue.sent, queue.sent]);
    t.strictSame(queue.committed, ["b07|5|me|c1", "b07|5|me|c2", "b07|5|me|c3"]);
    t.equal(queue.size, 0);
    await queue.round();
    t.equal(queue.sent.length, 3);
  });

  t.test("in the next round if Redis fails: none is lost", async (t) => {
    const queue = new Queue();
    const calls = Array.from({ length: 100 }, (_, at) => `c${at}`);
    for (const callId of calls) queue.add(callId);
    queue.reply = (callId) => {
      if (callId === "c1") throw new Error("Redis is down");
      return queue.posted(callId);
    };
    await queue.round();
    t.ok(queue.sent.length < calls.length, "it stops");
    t.strictSame([queue.done.includes("c1"), queue.done.length + queue.size], [false, 100]);
    queue.reply = (callId) => queue.posted(callId);
    await queue.round();
    t.strictSame([queue.done.toSorted(), queue.size], [calls.toSorted(), 0]);
  });

  t.test("while the ledger is silent too, if Redis itself knows whether it has them", async (t) => {
    const queue = new Queue();
    queue.add("old", null);
    for (let at = 0; at < 100; at++) queue.add(`c${at}`);
    queue.asked = () => Promise.reject(new Error("Postgres is down"));
    await queue.round();
    t.strictSame([queue.done.length, queue.size], [100, 1]);
    queue.asked = async () => {};
    await queue.round();
    t.strictSame([queue.done.at(-1), queue.size], ["old", 0]);
  });

  t.test("past those that a full Redis refuses, which wait until it has room", async (t) => {
    const queue = new Queue();
    for (const callId of ["new1", "unheard", "new2"]) queue.add(callId);
    queue.reply = (callId) => {
      if (callId === "unheard") return ["duplicate", "70", "0", "5|me|unheard"];
      queue.bucket.isFull = true;
      throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
    };
    await queue.round();
    await queue.round();
    t.strictSame(queue.sent, ["new1", "unheard", "new2"], "a refused post is not sent again");
    t.strictSame([queue.committed, queue.size], [["b07|5|me|unheard"], 2]);
    queue.reply = (callId) => queue.posted(callId);
    queue.bucket.isFull = false;
    await queue.round();
    t.strictSame([queue.done, queue.size], [["unheard", "new1", "new2"], 0]);
  });

  t.test("also those that came in during a round", async (t) => {
    const queue = new Queue();
    queue.add("c1");
    queue.reply = (callId) => {
      if (callId === "c1") queue.add("c2");
      if (callId === "c2") throw new Error("Redis is down");
      return queue.posted(callId);
    };
    await queue.round();
    t.strictSame([queue.done, queue.size], [["c1"], 1]);
    queue.reply = (callId) => queue.posted(callId);
    await queue.round();
    t.strictSame([queue.done, queue.size], [["c1", "c2"], 0]);
  });

  t.test("again, if the epoch ends and they are unsent once more", async (t) => {
    const queue = new Queue();
    queue.add("c1");
    queue.reply = (callId) => {
      if (queue.sent.length > 1) throw new Error("Redis has another epoch");
      queue.bucket.outbox.unsent.clear();
      queue.add("c1", null);
      return queue.posted(callId);
    };
    await queue.round();
    t.equal(queue.size, 1);
  });
});

t.test("a post that may be in the ledger is looked up there first", async (t) => {
  const table: [string, Sent | null, number][] = [
    ["sent in this epoch", SENT, 0],
    ["sent in an earlier epoch", { ...SENT, epoch: "4" }, 1],
    ["sent before the leases of this process ended", { ...SENT, process: "me~0" }, 1],
    ["sent by an earlier process", null, 1],
  ];
  for (const [what, sent, lookups] of table) {
    const queue = new Queue();
    queue.add("c1", sent);
    queue.inLedger.add("c1");
    await queue.round();
    t.equal(queue.lookups, lookups, what);
    t.strictSame(queue.sent, lookups === 1 ? [] : ["c1"], `${what}: charged once`);
    t.strictSame(queue.done, ["c1"], what);
    t.strictSame(queue.forgotten, ["c1"], `${what}: nothing keeps its hold`);
  }
});

t.test("a duplicate of this epoch is committed here too, unless it was voided", async (t) => {
  for (const [place, entries] of [
    ["5|me|c1", ["b07|5|me|c1"]],
    // The leases of that process ended, and Redis may lose its outbox before another one commits it.
    ["5|other|c1", ["b07|5|other|c1"]],
    // The wallets of this epoch were loaded without it, if a ledger that had lost it was restored.
    ["4|other|c1", []],
    ["", []],
  ] as const) {
    const queue = new Queue();
    queue.add("c1");
    queue.reply = () => ["duplicate", "70", "0", place];
    await queue.round();
    t.strictSame([queue.committed, queue.done], [[...entries], ["c1"]]);
  }
});

t.test("a post to a wallet that Redis does not know", async (t) => {
  t.test("is sent again once the wallet is loaded", async (t) => {
    const queue = new Queue();
    queue.add("c1");
    queue.reply = (callId) => (queue.sent.length < 2 ? ["unknown"] : queue.posted(callId));
    await queue.round();
    t.strictSame([queue.sent, queue.done], [["c1", "c1"], ["c1"]]);
  });

  t.test("waits for the next round if it is still unknown", async (t) => {
    const queue = new Queue();
    queue.add("c1");
    queue.reply = () => ["unknown"];
    await queue.round();
    t.strictSame([queue.done, queue.forgotten, queue.size], [[], [], 1]);
  });

  t.test("goes into the ledger's quarantine if the account does not exist", async (t) => {
    const queue = new Queue();
    queue.loaded.clear();
    queue.add("c1");
    queue.reply = () => ["unknown"];
    await queue.round();
    t.strictSame([queue.committed, queue.done], [["b07|0||c1"], ["c1"]]);
    t.strictSame(queue.forgotten, ["c1"]);
  });

  t.test(
    "waits for the next round if the epoch ends while the account is looked for",
    async (t) => {
      const queue = new Queue();
      queue.loaded.has = () => {
        queue.bucket.epoch = "6";
        return false;
      };
      queue.add("c1");
      queue.reply = () => ["unknown"];
      await queue.round();
      t.strictSame([queue.committed, queue.done, queue.size], [[], [], 1]);
    },
  );
});

t.test("a post whose epoch ended during the lookup waits for the next round", async (t) => {
  const queue = new Queue();
  queue.add("c1", null);
  const { inLedger } = queue;
  inLedger.has = () => {
    queue.bucket.epoch = "6";
    return false;
  };
  await queue.round();
  t.strictSame([queue.sent, queue.size], [[], 1]);
});
