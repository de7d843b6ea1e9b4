import t from "tap";
import { Bucket } from "../../../../core/money/redis/bucket.ts";
import { BucketMap } from "../../../../core/money/redis/bucket-map.ts";
import { Holds } from "../../../../core/money/redis/holds.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { sentOperations } from "./sent-operations.ts";

t.test("a void without a reply makes the bucket due for two audits", async (t) => {
  const done: string[] = [];
  const bucket = {
    state: "ready",
    process: "me",
    run: async (operation: string, _keys: unknown, [callId]: readonly string[]) => {
      if (callId === "unheard") throw new Error("no reply");
      done.push(`${operation} ${callId}`);
    },
  } as unknown as Bucket;
  const parts = {
    buckets: { of: () => bucket },
    wallets: {},
    ledger: {},
    refusal: () => undefined,
    auditRounds: 1,
  };
  let audits = 0;
  const heldCalls = async () => {
    audits += 1;
    return ["left"];
  };
  const view = { hasHolds: true, members: new Map([1, 2, 3, 4, 5].map((each) => [each, ""])) };
  const membership = { bucket, view, heldCalls } as unknown as Membership;
  // biome-ignore lint/suspicious/noExplicitAny: only the parts that a void and an audit use
  const holds = new Holds(parts as any);
  await holds.void("heard", "A");
  // Each of five gateways audits at every fifth time.
  for (const each of [1, 1]) {
    await holds.round(membership);
    t.equal(audits, each);
  }
  await holds.void("unheard", "A");
  for (const each of [2, 3, 3, 4]) {
    await holds.round(membership);
    t.equal(audits, each);
  }
  t.strictSame(done, ["void heard", ...Array(4).fill("void left")]);
});

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
    auditRounds: 1,
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
  "a hold without a reply that is taken again makes the bucket due for two audits",
  async (t) => {
    const hooks: { onSend?: () => void } = {};
    const { holds, bucket } = await lostHold(hooks);
    hooks.onSend = () => {
      throw new Error("no reply");
    };
    await t.rejects(holds.extend(EXTENSION), /no reply/);
    holds.forget(CALL.callId);
    let audits = 0;
    const view = { hasHolds: true, members: new Map([1, 2, 3, 4, 5].map((each) => [each, ""])) };
    const heldCalls = async () => {
      audits += 1;
      return [];
    };
    const membership = { bucket, view, heldCalls } as unknown as Membership;
    for (let round = 0; round < 5; round += 1) await holds.round(membership);
    t.equal(audits, 2);
  },
);
