import t from "tap";
import { Breaker } from "../../../core/upstream/breaker.ts";

function newBreaker() {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  return { clock, breaker: new Breaker(clock, () => {}) };
}

function failTimes(breaker: Breaker, times: number): void {
  for (let at = 0; at < times; at++) {
    breaker.begin();
    breaker.fail();
  }
}

t.test("a breaker", async (t) => {
  t.test("reports when it opens and closes, and not each failed probe", async (t) => {
    const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
    const changes: string[] = [];
    const breaker = new Breaker(clock, (state, reason) => changes.push(`${state}: ${reason}`));
    for (let at = 0; at < 8; at++) {
      breaker.begin();
      breaker.fail(`HTTP ${500 + at}`);
      clock.ms += 60_000;
    }
    breaker.begin();
    breaker.succeed();
    breaker.succeed();
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
    breaker.succeed();
    failTimes(breaker, 4);
    t.equal(breaker.allows, true);
  });

  t.test("lets one call probe after five seconds, and no second one until it ends", async (t) => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 4_999;
    t.equal(breaker.allows, false);
    clock.ms += 1;
    t.equal(breaker.allows, true);
    breaker.begin();
    t.equal(breaker.state, "probing");
    t.equal(breaker.allows, false);
  });

  t.test("closes when the probe succeeds", async (t) => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 5_000;
    breaker.begin();
    breaker.succeed();
    t.equal(breaker.state, "closed");
    t.equal(breaker.allows, true);
  });

  t.test(
    "doubles the wait with each failed probe up to a minute, and resets it after a success",
    async (t) => {
      const { breaker, clock } = newBreaker();
      failTimes(breaker, 5);
      for (const waitMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
        clock.ms += waitMs - 1;
        t.equal(breaker.allows, false, `before ${waitMs}`);
        clock.ms += 1;
        t.equal(breaker.allows, true, `after ${waitMs}`);
        failTimes(breaker, 1);
      }
      clock.ms += 60_000;
      breaker.begin();
      breaker.succeed();
      failTimes(breaker, 5);
      clock.ms += 5_000;
      t.equal(breaker.allows, true);
    },
  );

  t.test("lets another call probe if the first one ended without a result", async (t) => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 5_000;
    breaker.begin();
    breaker.forget();
    t.equal(breaker.allows, true);
  });
});
