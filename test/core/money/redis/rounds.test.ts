import t from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { Heartbeat } from "../../../../core/money/redis/heartbeat.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { Rounds } from "../../../../core/money/redis/rounds.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { ManualMachine } from "../manual-machine.ts";

const BUCKETS = 12;

t.test("looks at settled buckets go out with a heartbeat, which comes first", async (t) => {
  const machine = new ManualMachine();
  const sent: { readonly what: string; readonly atMs: number }[] = [];
  const note = (what: string) => sent.push({ what, atMs: machine.monotonic() });
  const client = {
    isCluster: false,
    async call(_: string, ...keys: string[]) {
      note("glance");
      return keys.map(() => "1");
    },
    async run() {
      note("beat");
      return ["1", "run address"];
    },
  } as unknown as RedisCommands;
  const membership = (name: string, settledAfterMs: number): Membership => {
    const step = async (nowMs: number) => {
      note(name);
      fake.isSettled = nowMs >= settledAfterMs;
      return fake.isSettled ? LIFETIMES.settledRoundMs : 100;
    };
    const fake = {
      ...{ bucket: { keys: { epoch: "e", version: "v" } }, view: { members: [] } },
      ...{ isSettled: false, step, isFresh: () => true, glanced: () => true, unsettle: () => true },
    };
    return fake as unknown as Membership;
  };
  // They settle at different times, between two heartbeats.
  const settling = Array.from({ length: BUCKETS }, (_, n) => membership("look", 250 + n * 100));
  const all = [...settling, membership("unsettled look", Number.POSITIVE_INFINITY)];
  const memberships = new Map(all.entries());
  const { heartbeatMs, leaseMs } = LIFETIMES;
  const times = { heartbeatMs, leaseMs };
  const heartbeat = new Heartbeat({
    ...{ client, prefix: "t", process: "p", memberships, times, machine },
    ...{ hurry: () => {}, hurryDue: (nowMs) => rounds.hurryDue(nowMs) },
  });
  const rounds = new Rounds(heartbeat, all, times, machine);
  rounds.start();
  await machine.advance(9_000);
  const quietFromMs = machine.monotonic();
  await machine.advance(60_000);
  const stopped = rounds.stop();
  await machine.advance(0);
  await stopped;
  const late = sent.filter(({ what, atMs }) => atMs > quietFromMs && what !== "unsettled look");
  const looks = late.filter(({ what }) => what === "look");
  t.equal(looks.length, BUCKETS * 10, "each looks every sixth heartbeat");
  for (const [at, { what, atMs }] of late.entries()) {
    if (what !== "look") continue;
    const before = late.slice(0, at).filter((each) => each.atMs === atMs);
    t.strictSame([before[0]?.what, before[1]?.what], ["beat", "glance"]);
  }
});
