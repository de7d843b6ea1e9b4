import t from "tap";
import { Breaker, Breakers } from "../../../core/upstream/breakers.ts";
import { recordedLog } from "../../support/log.ts";

/** For calls of which it does not matter when they were sent. */
const SINCE = Number.POSITIVE_INFINITY;

function newBreaker() {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  return { clock, breaker: new Breaker(clock, () => {}) };
}

function failTimes(breaker: Breaker, times: number): void {
  for (let at = 0; at < times; at++) {
    breaker.begin();
    breaker.fail(SINCE);
  }
}

t.test("a breaker", async (t) => {
  t.test("reports when it opens and closes, and not each failed probe", async (t) => {
    const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
    const changes: string[] = [];
    const breaker = new Breaker(clock, (state, reason) => changes.push(`${state}: ${reason}`));
    for (let at = 0; at < 8; at++) {
      breaker.begin();
      breaker.fail(SINCE, `HTTP ${500 + at}`);
      clock.ms += 60_000;
    }
    breaker.begin();
    breaker.succeed(SINCE);
    breaker.succeed(SINCE);
    t.strictSame(changes, ["open: HTTP 504", "closed: a call succeeded"]);
  });

  t.test("opens after five consecutive failures", async (t) => {
    const { breaker } = newBreaker();
    failTimes(breaker, 4);
    t.equal(breaker.allows, true);
    t.equal(breaker.state, "closed");
    failTimes(breaker, 1);
    t.equal(breaker.allows, false);
    t.equal(breaker.state, "open");
  });

  t.test("resets its count after a success", async (t) => {
    const { breaker } = newBreaker();
    failTimes(breaker, 4);
    breaker.succeed(SINCE);
    failTimes(breaker, 4);
    t.equal(breaker.allows, true);
  });

  t.test("is due for a probe every five seconds, whatever the last one does", async (t) => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    for (let probe = 0; probe < 10; probe++) {
      clock.ms += 4_999;
      t.equal(breaker.retryInMs, 1);
      clock.ms += 1;
      t.equal(breaker.retryInMs, 0);
      t.equal(breaker.allows, false, "calls go elsewhere");
      breaker.begin();
      t.equal(breaker.state, "probing");
      t.equal(breaker.retryInMs, 5_000);
      if (probe % 2 === 0) breaker.forget();
    }
  });

  t.test("closes when a probe succeeds, and opens again at the next failure", async (t) => {
    const { breaker } = newBreaker();
    failTimes(breaker, 5);
    breaker.begin();
    breaker.probed(SINCE);
    t.strictSame([breaker.state, breaker.allows], ["closed", true]);
    failTimes(breaker, 1);
    t.equal(breaker.allows, false);
    breaker.probed(SINCE);
    breaker.begin();
    breaker.succeed(SINCE);
    failTimes(breaker, 4);
    t.equal(breaker.allows, true, "a call has succeeded");
    breaker.probed(SINCE);
    t.equal(breaker.allows, true);
    failTimes(breaker, 1);
    t.equal(breaker.allows, false, "a probe of a closed one changes nothing");
  });

  t.test("is open twice as long each time that only probes succeed", async (t) => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    for (const openMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      t.equal(breaker.retryInMs, openMs);
      clock.ms += openMs;
      breaker.begin();
      t.equal(breaker.retryInMs, openMs, "until the next probe");
      breaker.probed(SINCE);
      failTimes(breaker, 1);
    }
    breaker.probed(SINCE);
    breaker.begin();
    breaker.succeed(SINCE);
    failTimes(breaker, 5);
    t.equal(breaker.retryInMs, 5_000, "a call has succeeded");
  });
});

t.test("a call that was sent before a breaker opened does not move it", async (t) => {
  const { breaker, clock } = newBreaker();
  clock.ms = 10_000;
  failTimes(breaker, 5);
  clock.ms += 3_000;
  breaker.succeed(9_999);
  breaker.probed(9_999);
  breaker.fail(9_999);
  t.equal(breaker.allows, false, "a stream of before has ended");
  t.equal(breaker.retryInMs, 2_000, "one of before has failed: the probe is due as it was");
  breaker.begin();
  breaker.probed(13_000);
  breaker.fail(9_999);
  t.equal(breaker.allows, true, "one of before has failed after a probe succeeded");
  breaker.succeed(9_999);
  failTimes(breaker, 1);
  t.equal(breaker.allows, false, "no call has succeeded since");
  breaker.succeed(clock.ms);
  t.equal(breaker.allows, true);
});

t.test("an upstream gets no retries while most of its calls fail", async (t) => {
  let nowMs = 0;
  const clock = { now: () => 0, monotonic: () => nowMs };
  const breakers = new Breakers("a", clock, recordedLog().log);
  const fail = () => breakers.fail("m", { cause: "http_500", reason: "HTTP 500" }, SINCE);
  for (let at = 0; at < 9; at++) fail();
  t.ok(breakers.allowRetries);
  fail();
  fail();
  t.notOk(breakers.allowRetries);
  nowMs += 61_000;
  t.ok(breakers.allowRetries, "a backup without other calls is tried again after a minute");
  fail();
  t.notOk(breakers.allowRetries);
  breakers.succeed("m", SINCE);
  t.ok(breakers.allowRetries);
  for (let at = 0; at < 100; at++) {
    fail();
    breakers.succeed("m", SINCE);
  }
  t.ok(breakers.allowRetries, "one that fails half of its calls is retried");
});
