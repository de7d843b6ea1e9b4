import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Breaker } from "../../../core/upstream/breaker.ts";

function newBreaker() {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  return { clock, breaker: new Breaker(clock) };
}

function failTimes(breaker: Breaker, times: number): void {
  for (let at = 0; at < times; at++) {
    breaker.begin();
    breaker.fail();
  }
}

describe("a breaker", () => {
  it("opens at the fifth failure in a row", () => {
    const { breaker } = newBreaker();
    failTimes(breaker, 4);
    assert.equal(breaker.allows, true);
    assert.equal(breaker.state, "closed");
    failTimes(breaker, 1);
    assert.equal(breaker.allows, false);
    assert.equal(breaker.state, "open");
  });

  it("starts to count anew after a success", () => {
    const { breaker } = newBreaker();
    failTimes(breaker, 4);
    breaker.succeed();
    failTimes(breaker, 4);
    assert.equal(breaker.allows, true);
  });

  it("lets one call probe after five seconds, and no second one meanwhile", () => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 4_999;
    assert.equal(breaker.allows, false);
    clock.ms += 1;
    assert.equal(breaker.allows, true);
    breaker.begin();
    assert.equal(breaker.state, "probing");
    assert.equal(breaker.allows, false);
  });

  it("closes when the probe succeeds", () => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 5_000;
    breaker.begin();
    breaker.succeed();
    assert.equal(breaker.state, "closed");
    assert.equal(breaker.allows, true);
  });

  it("doubles the wait with each failed probe, up to a minute, and starts at five seconds again", () => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    for (const waitMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      clock.ms += waitMs - 1;
      assert.equal(breaker.allows, false, `before ${waitMs}`);
      clock.ms += 1;
      assert.equal(breaker.allows, true, `after ${waitMs}`);
      failTimes(breaker, 1);
    }
    clock.ms += 60_000;
    breaker.begin();
    breaker.succeed();
    failTimes(breaker, 5);
    clock.ms += 5_000;
    assert.equal(breaker.allows, true);
  });

  it("lets another call probe when the one that did has left without a word on the upstream", () => {
    const { breaker, clock } = newBreaker();
    failTimes(breaker, 5);
    clock.ms += 5_000;
    breaker.begin();
    breaker.forget();
    assert.equal(breaker.allows, true);
  });
});
