import t from "tap";
import { checkOwnClock, LedgerClock } from "../../../core/boot/ledger-clock.ts";
import { StoreSettings } from "../../../core/boot/store-settings.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";

const NOW = Date.UTC(2026, 0);
const S = 1_000;
const STOPPED = { now: () => NOW, monotonic: () => 0 };

/** Returns the fault of a Postgres whose clock is ahead, and the difference that was measured. */
async function measured(aheadMs: number, differenceMsMax = 300 * S) {
  const clock = new LedgerClock(STOPPED, async () => NOW + aheadMs, differenceMsMax);
  const [fault] = await clock.faults();
  return { fault, aheadMs: clock.aheadMs };
}

t.test("small differences are measured, and no fault", async (t) => {
  t.strictSame(await measured(900), { fault: undefined, aheadMs: 900 });
  t.strictSame(await measured(-50), { fault: undefined, aheadMs: -50 });
});

t.test("no gateway starts with clocks that differ by minutes", async (t) => {
  const { fault } = await measured(301 * S);
  t.match(fault, { breaks: true, advice: /301\.0 s ahead of this gateway's .*set the clock/ });
  t.match((await measured(-301 * S)).fault, { breaks: true, advice: /301\.0 s behind this/ });
  t.match((await measured(299 * S)).fault, { breaks: false });
  t.match((await measured(86_400 * S, 0)).fault, { breaks: false });
});

t.test("a difference that changes is logged once while it lasts", async (t) => {
  let aheadMs = 2 * S;
  const read = async () => {
    aheadMs += 1;
    return NOW + aheadMs;
  };
  const clock = new LedgerClock(STOPPED, read, 300 * S);
  const { log, lines } = recordedLog();
  const settings = new StoreSettings([() => clock.faults()], log, 1);
  await settings.start();
  await until("it is measured again", () => aheadMs > 2 * S + 5);
  await settings.stop();
  t.match(lines, [{ level: 40, reason: /2\.0 s ahead/ }]);
  t.equal(lines.length, 1);
});

t.test("a gateway with a clock before 2020 does not start", async (t) => {
  const unset = Date.UTC(1970, 0, 1, 0, 5);
  t.throws(() => checkOwnClock(unset), /says 1970-01-01T00:05:00.000Z.*Set the clock/);
  t.doesNotThrow(() => checkOwnClock(NOW));
});

t.test("a Postgres that does not reply has no difference", async (t) => {
  let isDown = false;
  const read = async () => {
    if (isDown) throw new Error("connection refused");
    return NOW + 5;
  };
  const clock = new LedgerClock(STOPPED, read, S);
  await clock.faults();
  t.equal(clock.aheadMs, 5);
  isDown = true;
  await t.rejects(clock.faults());
  t.equal(clock.aheadMs, undefined);
});

t.test("the time that a slow reply leaves open does not count as a difference", async (t) => {
  let nowMs = NOW;
  const moving = { now: () => nowMs, monotonic: () => nowMs };
  const read = async () => {
    nowMs += 4 * S;
    return nowMs;
  };
  const clock = new LedgerClock(moving, read, S);
  t.strictSame(await clock.faults(), []);
  t.equal(clock.aheadMs, 0);
});
