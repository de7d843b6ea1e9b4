import t from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { Bucket, NotMember } from "../../../../core/money/redis/bucket.ts";
import { BucketMap } from "../../../../core/money/redis/bucket-map.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { asReply } from "../../../../core/money/redis/operations.ts";
import { RedisWallets } from "../../../../core/money/redis/wallets.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { ManualMachine } from "../manual-machine.ts";
import { sentOperations } from "./sent-operations.ts";

/** A bucket in a Redis that replies with these counts of operations. */
function stage(counts: number[] = [], reply: (name: string) => string = () => "ok") {
  const scripts: { epoch: string | undefined; names: string[] }[] = [];
  const evalsha = async (_: string, [members = ""]: string[], args: readonly string[]) => {
    const names = sentOperations(args);
    scripts.push({ epoch: members.split(":")[2], names });
    return [counts.shift(), ...names.map(reply)];
  };
  const client = { evalsha } as unknown as RedisCommands;
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown) => troubles.push(error);
  const machine = new ManualMachine();
  const bucket = new Bucket(new BucketKeys("t", 0), { client, process: "me", machine, onTrouble });
  bucket.enter("1-a", "");
  bucket.set("ready", true);
  return { bucket, client, machine, troubles, scripts };
}

t.test("a reply counts only if its count of operations is above all before", async (t) => {
  const { bucket, troubles } = stage([2, 3, 3, 2, 4, 0]);
  t.equal(bucket.isFull, false);
  const run = () => bucket.run("noop", [], [], asReply);
  t.strictSame(await run(), ["ok"]);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /Redis lost operations/);
  await t.rejects(run(), /Redis lost operations/);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /is being joined/);
  t.equal(bucket.operationsSeen, 4);
  t.equal(troubles.length, 3);
});

t.test("a call that is refused while a bucket is closed leaves nothing behind", async (t) => {
  const { bucket, client, machine } = stage();
  bucket.set("ready", false);
  const wallets = new RedisWallets(client, new BucketMap([bucket]));
  let loads = 0;
  const load = (accountId: string) =>
    wallets
      .load(accountId, async () => undefined)
      .finally(() => {
        loads += 1;
      });
  const calls = ["A", "B", "A"].map((accountId) => t.rejects(load(accountId), NotMember));
  calls.push(t.rejects(bucket.whenReady(), NotMember));
  await machine.advance(LIFETIMES.joinWaitMs);
  t.equal(loads, 0, "a load waits for the ledger of a slow gateway");
  await machine.advance(LIFETIMES.loadTimeoutMs - LIFETIMES.joinWaitMs);
  t.equal(loads, 3);
  await Promise.all(calls);
  t.equal(machine.timersRunning, 0);
  const late = load("A");
  await machine.advance(1);
  t.equal(loads, 3, "the next load of the wallet waits for itself");
  client.call = async () => ["1", "0"];
  bucket.set("ready", true);
  t.equal(await late, true);
});

t.test("operations of one turn are one script, and each gets its own reply", async (t) => {
  const reply = (name: string) => (name === "void" ? "failed\nERR broken" : name);
  const { bucket, troubles, scripts } = stage([2, 3], reply);
  const names = ["hold", "void", "post"] as const;
  const turn = names.map((name) => bucket.run(name, [], [], asReply));
  const results = await Promise.allSettled(turn);
  t.match(results, [
    { value: ["hold"] },
    { reason: { message: "ERR broken" } },
    { value: ["post"] },
  ]);
  t.equal(troubles.length, 1);
  t.match(await bucket.run("load", [], [], asReply), ["load"]);
  t.strictSame(
    scripts.map((each) => each.names),
    [["hold", "void", "post"], ["load"]],
  );
  // Redis serves no other gateway while a script runs.
  const many = stage([2, 3]);
  await Promise.all(Array.from({ length: 65 }, () => many.bucket.run("hold", [], [], asReply)));
  t.strictSame(
    many.scripts.map((each) => each.names.length),
    [64, 1],
  );
});

t.test("an operation belongs to the epoch in which it was asked for", async (t) => {
  const { bucket, troubles, scripts } = stage([2, 2]);
  const before = bucket.run("hold", [], [], asReply);
  bucket.enter("2-b", "");
  const after = bucket.run("post", [], [], asReply);
  await t.rejects(before, NotMember);
  t.match(await after, ["ok"]);
  t.match(scripts, [
    { epoch: "1-a", names: ["hold"] },
    { epoch: "2-b", names: ["post"] },
  ]);
  t.strictSame(troubles, [], "a reply from an epoch before says nothing about this one");
});

t.test("a reply that cannot be read fails its operation", async (t) => {
  const { bucket } = stage([2]);
  const none = bucket.run("hold", [], [], () => {
    throw new Error("cannot be read");
  });
  await t.rejects(none, /cannot be read/);
});

t.test(
  "after its leases were ended a gateway changes nothing in the epoch of before",
  async (t) => {
    const { bucket, scripts } = stage([2]);
    bucket.expelled();
    void bucket.run("noop", [], [], asReply).catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    t.strictSame(
      scripts.map(({ epoch }) => epoch),
      [""],
    );
  },
);
