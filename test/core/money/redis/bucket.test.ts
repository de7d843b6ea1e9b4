import t from "tap";
import { Bucket } from "../../../../core/money/redis/bucket.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { Readiness } from "../../../../core/money/redis/readiness.ts";
import { NotMember, type Session } from "../../../../core/money/redis/session.ts";
import { ManualMachine } from "../manual-machine.ts";

t.test("work in a bucket that must be joined first is tried three times", async (t) => {
  const readiness = new Readiness();
  readiness.set("ready", true);
  const bucket = new Bucket(new BucketKeys("t", 0), {} as Session, readiness, {
    ...{ machine: new ManualMachine(), counts: { edition: "1", firstEdition: async () => "1" } },
  });
  let tries = 0;
  const work = (failures: number, error: Error) => {
    tries = 0;
    return bucket.asMember(async () => {
      tries += 1;
      if (tries <= failures) throw error;
      return "done";
    });
  };
  t.equal(await work(2, new NotMember("b00")), "done");
  t.equal(tries, 3);
  await t.rejects(work(3, new NotMember("b00")), /is being joined/);
  t.equal(tries, 3);
  await t.rejects(work(1, new Error("other")), /other/);
  t.equal(tries, 1);
});
