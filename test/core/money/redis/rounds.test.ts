import t, { type Test } from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { Heartbeat } from "../../../../core/money/redis/heartbeat.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { Rounds } from "../../../../core/money/redis/rounds.ts";
import { beatScript } from "../../../../core/money/redis/scripts.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import type { Script } from "../../../../core/redis/script.ts";
import { ManualMachine } from "../manual-machine.ts";

const BUCKETS = 12;

interface Sent {
  readonly what: string;
  readonly atMs: number;
  /** How many buckets it is about. */
  readonly buckets: number;
}

/** Runs rounds for a minute after all buckets but one have settled, at different times between two heartbeats. */
async function minute(isCluster: boolean, states: (buckets: number) => number[]): Promise<Sent[]> {
  const machine = new ManualMachine();
  const sent: Sent[] = [];
  const note = (what: string, buckets = 1) =>
    sent.push({ what, atMs: machine.monotonic(), buckets });
  const client = {
    isCluster,
    async call(_: string, ...keys: string[]) {
      note("glance");
      return keys.map(() => "1");
    },
    async run(script: Script, keys: readonly string[]) {
      if (script === beatScript) note("heartbeat");
      else note("settled", keys.length - 1);
      return script === beatScript ? ["run address"] : states(keys.length - 1);
    },
  } as unknown as RedisCommands;
  const membership = (name: string, settledAfterMs: number): Membership => {
    const settled = { isSettled: false, end: () => true };
    const step = async (nowMs: number) => {
      note(name);
      settled.isSettled = nowMs >= settledAfterMs;
      return settled.isSettled ? LIFETIMES.settledRoundMs : 100;
    };
    const keys = { epoch: "e", version: "v" };
    const bucket = { keys, process: "p", operationsSeen: 1, epochKeys: { members: "t:procs" } };
    const fake = { bucket, settled, step, view: { members: [] }, beaten() {} };
    return { ...fake, isFresh: () => true, glanced: () => true } as unknown as Membership;
  };
  const settling = Array.from({ length: BUCKETS }, (_, n) => membership("look", 250 + n * 100));
  const all = [...settling, membership("unsettled look", Number.POSITIVE_INFINITY)];
  const { heartbeatMs, leaseMs } = LIFETIMES;
  const shared = { client, prefix: "t", times: { heartbeatMs, leaseMs }, machine };
  const heartbeat = new Heartbeat({
    ...{ ...shared, process: "p", memberships: new Map(all.entries()) },
    ...{ hurry: () => {}, beatSettled: (nowMs) => rounds.beatSettled(nowMs) },
  });
  const rounds = new Rounds({ ...shared, pulse: heartbeat, memberships: all });
  rounds.start();
  await machine.advance(9_000);
  const quietFromMs = machine.monotonic();
  await machine.advance(60_000);
  const stopped = rounds.stop();
  await machine.advance(0);
  await stopped;
  return sent.filter(({ what, atMs }) => atMs > quietFromMs && what !== "unsettled look");
}

/** Fails unless each command of this kind goes out after a heartbeat, in the same turn. */
function followHeartbeats(t: Test, sent: readonly Sent[], what: string): Sent[] {
  const found = sent.filter((each) => each.what === what);
  for (const each of found) {
    const before = sent.slice(0, sent.indexOf(each)).filter(({ atMs }) => atMs === each.atMs);
    t.strictSame([before[0]?.what, before[1]?.what], ["heartbeat", "glance"]);
  }
  return found;
}

t.test("one command for all settled buckets goes out with every sixth heartbeat", async (t) => {
  const sent = await minute(false, (buckets) => Array(buckets).fill(1));
  const beats = followHeartbeats(t, sent, "settled");
  t.equal(
    beats.reduce((sum, { buckets }) => sum + buckets, 0),
    BUCKETS * 10,
  );
  t.ok(beats.length <= 20, "those that settled between two heartbeats go together");
  t.strictSame(
    sent.filter(({ what }) => what === "look"),
    [],
  );
});

t.test("a settled bucket that is not as it was is looked at at once", async (t) => {
  const sent = await minute(false, (buckets) => Array.from({ length: buckets }, (_, n) => n % 2));
  const beats = sent.filter(({ what }) => what === "settled");
  const looks = sent.filter(({ what }) => what === "look");
  t.ok(beats.length > 0);
  for (const { atMs, buckets } of beats) {
    const now = looks.filter((look) => look.atMs === atMs);
    t.equal(now.length, Math.ceil(buckets / 2), "those with the state 0");
  }
});

t.test("without a reply settled buckets are looked at when that is due", async (t) => {
  const sent = await minute(false, () => {
    throw new Error("cut by the test");
  });
  const looks = sent.filter(({ what }) => what === "look");
  t.ok(looks.length >= BUCKETS * 9);
  t.ok(sent.some(({ what }) => what === "settled"));
});

t.test("in a cluster looks at settled buckets go out with a heartbeat", async (t) => {
  const looks = followHeartbeats(t, await minute(true, () => []), "look");
  t.equal(looks.length, BUCKETS * 10, "each looks every sixth heartbeat");
});
