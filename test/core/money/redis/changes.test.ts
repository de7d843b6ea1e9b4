import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import type { BucketMap } from "../../../../core/money/redis/bucket-map.ts";
import { RedisChanges } from "../../../../core/money/redis/changes.ts";

t.test("a movement that meets a new epoch at each attempt is not taken for applied", async (t) => {
  let epochs = 0;
  const bucket = {
    name: "b00",
    get epoch() {
      epochs += 1;
      return `${epochs}-a`;
    },
    asMember: <T>(work: () => Promise<T>) => work(),
    run: () => Promise.reject(new Error("it is of an earlier epoch")),
  } as unknown as Bucket;
  const total = { accountId: "A", creditVersion: 1, creditedMicroVnd: 5n };
  const wallet = async () => ({ ...total, balanceMicroVnd: 5n });
  const changes = new RedisChanges({ of: () => bucket } as unknown as BucketMap, { wallet });
  await t.rejects(changes.credit(total, Promise.resolve()), { name: "NotMember" });
});
