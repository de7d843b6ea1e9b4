import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { healthOfStore, whenServing } from "../../../../core/money/redis/health.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { recordedLog } from "../../../support/log.ts";

const NOT_COMPARED = { wentBack: false, refusal: "not compared", cause: "ledger_not_compared" };
const WENT_BACK = { wentBack: true, refusal: "went back", cause: "ledger_went_back" };
const FINE = { wentBack: false, refusal: undefined, cause: "" };

/** `whenLoadable` resolves at once if the bucket is ready, else never. */
function bucket(state: Bucket["state"], isReady = false): Bucket {
  const whenLoadable = () => (isReady ? Promise.resolve() : new Promise<void>(() => {}));
  return { state, isReady, isFull: false, fault: "WRONGPASS", whenLoadable } as never;
}

const READY = bucket("ready", true);
const AWAY = bucket("away");
const JOINING = bucket("joining");

function start(buckets: readonly Bucket[]) {
  const { log, lines } = recordedLog();
  return { started: whenServing(buckets, 1, systemMachine, log), lines };
}

t.test("a start is over once every bucket can load wallets", async (t) => {
  const { started, lines } = start([READY, READY]);
  await started;
  t.strictSame(lines, []);
});

t.test("a start does not wait longer for some buckets, and says why", async (t) => {
  const { started, lines } = start([READY, AWAY]);
  await started;
  t.match(lines, [{ reason: "Redis is unreachable: WRONGPASS (1 of 2 buckets)" }]);
});

t.test("a start fails if Redis does not reply", async (t) => {
  await t.rejects(start([AWAY, AWAY]).started, /Redis did not reply within 0.001 s: WRONGPASS/);
});

t.test("a start does not wait for a node that the others wait for", async (t) => {
  const { started, lines } = start([AWAY, JOINING]);
  await started;
  t.match(lines, [{ reason: "Redis is unreachable: WRONGPASS (2 of 2 buckets)" }]);
});

t.test("a start waits on for the leases of other processes", async (t) => {
  let state: Bucket["state"] = "joining";
  let asked = 0;
  const slow = {
    ...JOINING,
    get state() {
      asked += 1;
      if (asked > 4) state = "away";
      return state;
    },
  } as Bucket;
  await t.rejects(start([slow]).started, /did not reply/);
  t.ok(asked > 4);
});

t.test("a store says first what an operator can repair", async (t) => {
  t.strictSame(healthOfStore([READY], FINE, undefined), { kind: "ok" });
  t.match(healthOfStore([AWAY], WENT_BACK, "full"), { cause: "ledger_went_back" });
  t.match(healthOfStore([AWAY], NOT_COMPARED, "full"), { cause: "no_room_for_posts" });
  t.match(healthOfStore([AWAY], NOT_COMPARED, undefined), { cause: "redis_unreachable" });
  t.match(healthOfStore([READY], NOT_COMPARED, undefined), {
    kind: "away",
    reason: "not compared",
  });
  t.match(healthOfStore([READY, JOINING], FINE, undefined), { kind: "impaired", cause: "joining" });
});
