import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { Holds } from "../../../../core/money/redis/holds.ts";
import { ManualMachine } from "../manual-machine.ts";

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
  };
  // biome-ignore lint/suspicious/noExplicitAny: only the parts that a void and an audit use
  const holds = new Holds({ ...parts, machine: new ManualMachine() } as any);
  await holds.void("heard", "A");
  t.equal(holds.mayHaveLost(bucket), false);
  await holds.void("unheard", "A");
  for (const isDue of [true, true, false]) {
    t.equal(holds.mayHaveLost(bucket), isDue);
    await holds.audit(bucket, ["left"]);
  }
  t.strictSame(done, ["void heard", "void left", "void left", "void left"]);
});
