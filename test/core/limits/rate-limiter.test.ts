import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { EmbeddedRateLimiter } from "../../../core/limits/embedded.ts";

/** A clock that tests move by hand. */
function stoppedClock() {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  return clock;
}

/** The same limit as a bucket: it fills evenly, and a call takes `intervalMs` out of it. */
class Bucket {
  private readonly intervalMs: number;
  private readonly most: number;
  private level: number;
  private atMs = 0;

  constructor(perMinute: number, burst: number) {
    this.intervalMs = 60_000 / perMinute;
    this.most = this.intervalMs * burst;
    this.level = this.most;
  }

  take(nowMs: number) {
    this.level = Math.min(this.most, this.level + nowMs - this.atMs);
    this.atMs = nowMs;
    const allowed = this.level >= this.intervalMs;
    if (allowed) this.level -= this.intervalMs;
    return {
      allowed,
      remaining: Math.floor(this.level / this.intervalMs),
      resetMs: this.most - this.level,
      retryMs: allowed ? 0 : this.intervalMs - this.level,
    };
  }
}

// Rates whose interval is a whole number of milliseconds, so that the model is exact.
const rate = fc.constantFrom(1, 2, 3, 10, 60, 600, 6_000);
const burst = fc.integer({ min: 1, max: 20 });
const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30_000 })), {
  maxLength: 100,
});

t.test("the rate limiter", async (t) => {
  t.test("gives the same results as an evenly filled bucket", async () => {
    fc.assert(
      fc.property(rate, burst, pauses, (perMinute, most, waits) => {
        const clock = stoppedClock();
        const limiter = new EmbeddedRateLimiter(clock);
        const bucket = new Bucket(perMinute, most);
        for (const wait of waits) {
          clock.ms += wait;
          const { allowed, remaining, resetMs, retryMs } = limiter.takeCall("key", perMinute, most);
          const got = { allowed, remaining, resetMs, retryMs };
          assert.deepEqual(got, bucket.take(clock.ms));
        }
      }),
    );
  });

  t.test("never allows more in a minute than the rate plus one burst", async () => {
    fc.assert(
      fc.property(rate, burst, pauses, (perMinute, most, waits) => {
        const clock = stoppedClock();
        const limiter = new EmbeddedRateLimiter(clock);
        const allowedAt: number[] = [];
        for (const wait of waits) {
          clock.ms += wait;
          if (limiter.takeCall("key", perMinute, most).allowed) allowedAt.push(clock.ms);
        }
        for (const start of allowedAt) {
          const within = allowedAt.filter((at) => at >= start && at < start + 60_000).length;
          assert.ok(within <= perMinute + most, `${within} within a minute`);
        }
      }),
    );
  });

  t.test("allows a call after exactly retryMs, and refuses it 1 ms earlier", async (t) => {
    const clock = stoppedClock();
    const limiter = new EmbeddedRateLimiter(clock);
    while (limiter.takeCall("key", 60, 5).allowed) {}
    const { retryMs } = limiter.takeCall("key", 60, 5);
    clock.ms += retryMs - 1;
    t.equal(limiter.takeCall("key", 60, 5).allowed, false);
    clock.ms += 1;
    t.equal(limiter.takeCall("key", 60, 5).allowed, true);
  });

  t.test("keeps the limit of a key, however many strangers are counted", async (t) => {
    const limiter = new EmbeddedRateLimiter(stoppedClock());
    t.ok(limiter.takeCall("key", 1, 1).allowed);
    for (let at = 0; at < 100_000; at++) limiter.takeCall(`admin:address ${at}`, 1, 1);
    t.notOk(limiter.takeCall("key", 1, 1).allowed);
  });

  t.test("does not count refused calls, so constant retries do not lock a key out", async (t) => {
    const clock = stoppedClock();
    const limiter = new EmbeddedRateLimiter(clock);
    let allowed = 0;
    for (; clock.ms < 60_000; clock.ms += 10) if (limiter.takeCall("key", 60, 1).allowed) allowed++;
    t.equal(allowed, 60);
  });

  t.test("lets a key that used up a limit call by the limit that replaces it", async (t) => {
    for (const [perMinute, burst, waitMs] of [
      [600, 600, 100],
      [60, 5, 1_000],
      [1, 1, 60_000],
    ] as const) {
      const clock = stoppedClock();
      const limiter = new EmbeddedRateLimiter(clock);
      while (limiter.takeCall("key", 60, 600).allowed) {}
      const { allowed, retryMs, resetMs } = limiter.takeCall("key", perMinute, burst);
      t.strictSame([allowed, retryMs, resetMs], [false, waitMs, waitMs * burst]);
      clock.ms += waitMs - 1;
      t.equal(limiter.takeCall("key", perMinute, burst).allowed, false);
      clock.ms += 1;
      t.equal(limiter.takeCall("key", perMinute, burst).allowed, true);
    }
  });

  t.test("limits each key separately, even after 25,000 others", async (t) => {
    const clock = stoppedClock();
    const limiter = new EmbeddedRateLimiter(clock);
    t.equal(limiter.takeCall("first", 1, 1).allowed, true);
    for (let key = 0; key < 25_000; key++) limiter.takeCall(`key ${key}`, 1, 1);
    t.equal(limiter.takeCall("first", 1, 1).allowed, false);
    clock.ms += 60_000;
    t.equal(limiter.takeCall("first", 1, 1).allowed, true);
  });

  t.test("allows a number of calls in flight, and another when one ends", async (t) => {
    const limiter = new EmbeddedRateLimiter(stoppedClock());
    t.equal(limiter.enterCall("key", "a", 2), true);
    t.equal(limiter.enterCall("key", "b", 2), true);
    t.equal(limiter.enterCall("key", "c", 2), false);
    t.equal(limiter.enterCall("other", "d", 2), true);
    limiter.leaveCall("key", "c");
    t.equal(limiter.enterCall("key", "c", 2), false, "a refused call cannot leave");
    limiter.leaveCall("key", "a");
    limiter.leaveCall("key", "a");
    t.equal(limiter.enterCall("key", "c", 2), true);
    t.equal(limiter.enterCall("key", "e", 2), false);
  });
});
