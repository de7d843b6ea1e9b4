import t from "tap";
import { Bucket, NotMember } from "../../../../core/money/redis/bucket.ts";
import { BucketMap } from "../../../../core/money/redis/bucket-map.ts";
import { Holds } from "../../../../core/money/redis/holds.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { RedisAway, type RedisCommands } from "../../../../core/redis/client.ts";
import { sentOperations } from "./sent-operations.ts";

/** Enough that no void follows. */
const ROUNDS = 200;
/** In the rounds 1, 2, 4 and so on, for longer than a connection is slow to end. */
const VOIDS = 8;

t.test(
  "what Redis may have of a hold or a void without a reply is voided for some rounds",
  async (t) => {
    const done: string[] = [];
    const state = { isReplying: true, error: new Error("no reply") };
    const bucket = {
      state: "ready",
      epoch: "1-a",
      keys: new BucketKeys("test", 0),
      async run(
        operation: string,
        _: unknown,
        [callId]: string[],
        read: (reply: string[]) => unknown,
      ) {
        if (!state.isReplying) throw state.error;
        done.push(`${operation} ${callId}`);
        return read(["held", "5"]);
      },
    } as unknown as Bucket;
    const parts = { buckets: { of: () => bucket }, refusal: () => undefined };
    // biome-ignore lint/suspicious/noExplicitAny: only the parts that a hold and a void use
    const holds = new Holds(parts as any);
    const rounds = async () => {
      for (let round = 0; round < ROUNDS; round += 1) await holds.round(bucket);
      return done.splice(0);
    };
    const voids = (callId: string) => Array<string>(VOIDS).fill(`void ${callId}`);
    const request = {
      callId: "c",
      accountId: "A",
      keyId: "K",
      amountMicroVnd: 5,
      floorMicroVnd: 5,
    };

    await holds.void("heard", "A");
    t.strictSame([done.splice(0), await rounds()], [["void heard"], []]);

    state.isReplying = false;
    for (const error of [new Error("OOM"), new NotMember("b00"), new RedisAway("close")]) {
      state.error = error;
      await holds.hold({ ...request, callId: "not taken" });
    }
    state.error = new Error("no reply");
    t.match(await holds.hold(request), { kind: "unavailable" });
    await holds.void("void", "A");
    await holds.round(bucket);
    state.isReplying = true;
    await holds.round({ ...bucket } as Bucket);
    t.strictSame(done, [], "another bucket");
    t.strictSame(
      (await rounds()).toSorted(),
      [...voids("c"), ...voids("void")],
      "one that fails does not count",
    );

    state.isReplying = false;
    await holds.hold(request);
    state.isReplying = true;
    t.match(await holds.hold(request), { kind: "held" });
    t.strictSame(await rounds(), ["hold c"], "its call runs");
    holds.forget("c");
    t.strictSame(await rounds(), voids("c"), "the lost one may arrive after the post");
  },
);

const CALL = { callId: "call", accountId: "A" };
const EXTENSION = { ...CALL, totalMicroVnd: 9, floorMicroVnd: 9 };

/**
 * Holds of a gateway with one call, whose hold was lost with an epoch of Redis. `onLoad` runs while its extension loads the
 * wallet again, `onSend` once Redis has the new hold. Returns the holds, and what Redis was sent since.
 */
async function lostHold(hooks: { onLoad?: () => void; onSend?: () => void } = {}) {
  const sent: string[] = [];
  let count = 1;
  const client = {
    async evalsha(_sha: string, _keys: readonly string[], args: readonly string[]) {
      const names = sentOperations(args);
      sent.push(...names);
      count += 1;
      if (names.includes("hold")) hooks.onSend?.();
      return [count, ...names.map(() => "held\n9")];
    },
  } as unknown as RedisCommands;
  const keys = new BucketKeys("test", 0);
  const options = { client, process: "me", machine: systemMachine, onTrouble: () => {} };
  const bucket = new Bucket(keys, options);
  bucket.enter("1-a", "");
  bucket.set("ready", true);
  const holds = new Holds({
    buckets: new BucketMap([bucket]),
    wallets: { load: async () => hooks.onLoad?.() },
    ledger: { wallet: async () => undefined },
    refusal: () => undefined,
    // biome-ignore lint/suspicious/noExplicitAny: only the parts that an extension uses
  } as any);
  await holds.hold({ ...CALL, keyId: "key", amountMicroVnd: 5, floorMicroVnd: 5 });
  sent.length = 0;
  count = 1;
  bucket.enter("2-b", "");
  return { holds, sent, bucket };
}

t.test("a running call takes its hold again in a new epoch", async (t) => {
  const { holds, sent } = await lostHold();
  t.match(await holds.extend(EXTENSION), { kind: "held" });
  t.strictSame(sent, ["hold"]);
});

t.test("a call that is posted while its wallet is loaded takes no hold", async (t) => {
  const hooks: { onLoad?: () => void } = {};
  const { holds, sent } = await lostHold(hooks);
  hooks.onLoad = () => holds.forget(CALL.callId);
  t.match(await holds.extend(EXTENSION), { kind: "gone" });
  t.strictSame(sent, []);
});

t.test("a hold that Redis takes after the post of its call is voided", async (t) => {
  const hooks: { onSend?: () => void } = {};
  const { holds, sent } = await lostHold(hooks);
  hooks.onSend = () => holds.forget(CALL.callId);
  t.match(await holds.extend(EXTENSION), { kind: "gone" });
  t.strictSame(sent, ["hold", "void"]);
});

t.test(
  "a hold that is taken again without a reply is voided once its call has ended",
  async (t) => {
    const hooks: { onSend?: () => void } = {};
    const { holds, sent, bucket } = await lostHold(hooks);
    hooks.onSend = () => {
      throw new Error("no reply");
    };
    await t.rejects(holds.extend(EXTENSION), /no reply/);
    await holds.round(bucket);
    holds.forget(CALL.callId);
    bucket.set("ready", true);
    await holds.round(bucket);
    t.strictSame(sent, ["hold", "void"]);
  },
);
