import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { Holds } from "../../../../core/money/redis/holds.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";

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
