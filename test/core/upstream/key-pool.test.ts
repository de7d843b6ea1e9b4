import t from "tap";
import { KeyPool } from "../../../core/upstream/key-pool.ts";

const FIRST = "sk-of-the-first-AAAA";
const SECOND = "sk-of-the-second-BBBB";

function newPool(...texts: readonly string[]) {
  const clock = { ms: 1_000, monotonic: () => clock.ms };
  const pool = new KeyPool(texts, clock);
  const next = (model = "m") => pool.awake(model, [], 0)?.text;
  /** The keys that calls of 1,000 conversations get, and how many each. */
  const shares = (model = "m") => {
    const counts: Record<string, number> = {};
    for (let conversation = 1; conversation <= 1_000; conversation++) {
      const text = String(pool.awake(model, [], conversation)?.text);
      counts[text] = (counts[text] ?? 0) + 1;
    }
    return counts;
  };
  const free = (model = "m") => Object.keys(shares(model)).sort();
  const [first, second] = pool.keys;
  if (!first || !second) throw new Error("two keys are needed");
  return { clock, pool, next, shares, free, first, second };
}

/** The times of a call that is refused as soon as it is sent. */
const sentAt = ({ ms }: { ms: number }, retryAfterMs?: number) => {
  return { sentMs: ms, nowMs: ms, retryAfterMs };
};

t.test("keys", async (t) => {
  t.test("share the calls, and are named without being revealed", async (t) => {
    const { shares, free, first, second } = newPool(FIRST, SECOND);
    t.strictSame(free(), [FIRST, SECOND]);
    for (const share of Object.values(shares())) t.ok(Math.abs(share - 500) < 50, String(share));
    t.equal(first.last4, "AAAA");
    t.not(first.id, second.id);
    t.equal(first.id, newPool(FIRST, SECOND).first.id);
    t.notMatch(JSON.stringify([first.id, first.last4]), /first/);
  });

  t.test("rest one by one: a limit for its model, a refused key for all", async (t) => {
    const { clock, next, free, first, second } = newPool(FIRST, SECOND);
    t.ok(first.fail("limit", "HTTP 429", "m", sentAt(clock, 30_000)));
    t.strictSame(free(), [SECOND]);
    t.strictSame(free("other"), [FIRST, SECOND]);
    second.fail("key", "HTTP 401", "m", sentAt(clock));
    t.strictSame([next(), next("other")], [undefined, FIRST]);
    clock.ms += 30_000;
    t.equal(next(), FIRST);
    t.match(second.restsAt(clock.ms), [{ model: "", fault: "key", inMs: 30_000 }]);
  });

  t.test(
    "serve calls within 5 s of the end of a limit that states no time; one that does rests them for at most an hour",
    async (t) => {
      const { clock, pool, first } = newPool(FIRST, SECOND);
      const times = [1, 2, 4, 4, 4, 4];
      for (const [at, seconds] of times.entries()) {
        t.equal(first.fail("limit", "HTTP 429", "m", sentAt(clock)), at === 0);
        t.equal(pool.wakesInMs(first, "m"), seconds * 1_000);
      }
      t.ok(first.succeed("m", clock.ms));
      t.equal(pool.wakesInMs(first, "m"), 0);
      t.notOk(first.succeed("m", clock.ms));
      first.fail("limit", "HTTP 429", "m", sentAt(clock, 86_400_000));
      t.equal(pool.wakesInMs(first, "m"), 3_600_000);
    },
  );

  t.test("rest once for calls that were under way together, however many", async (t) => {
    const { clock, pool, first } = newPool(FIRST, SECOND);
    const sentMs = clock.ms;
    for (let call = 0; call < 20; call++) {
      clock.ms += 100;
      const isFirst = first.fail("key", "HTTP 401", "m", { sentMs, nowMs: clock.ms });
      t.equal(isFirst, call === 0);
    }
    t.equal(pool.wakesInMs(first, "m"), 60_000);
    clock.ms += 60_000;
    first.fail("key", "HTTP 401", "m", sentAt(clock));
    t.equal(pool.wakesInMs(first, "m"), 120_000, "a call that was sent later doubles it");
  });

  t.test("rest longer with each refusal in a row under steady traffic", async (t) => {
    const { clock, pool, first } = newPool(FIRST, SECOND);
    // Each call is refused only after the next was sent.
    for (let call = 0; call < 8; call++) {
      clock.ms += 100;
      first.fail("key", "HTTP 401", "m", { sentMs: clock.ms - 150, nowMs: clock.ms });
    }
    t.equal(pool.wakesInMs(first, "m"), 480_000);
  });

  t.test("keep their probe if a call is refused that was sent before it", async (t) => {
    const { clock, pool, first } = newPool(FIRST, SECOND);
    const sentMs = clock.ms - 1;
    first.fail("limit", "HTTP 429", "m", sentAt(clock));
    clock.ms += 1_000;
    first.use("m", clock.ms);
    first.fail("limit", "HTTP 429", "m", { sentMs, nowMs: clock.ms });
    t.equal(pool.wakesInMs(first, "m"), 30_000);
  });

  t.test("rest for the longest time that a provider has stated", async (t) => {
    const { clock, pool, first } = newPool(FIRST, SECOND);
    const sentMs = clock.ms;
    clock.ms += 1_000;
    first.fail("limit", "HTTP 429", "m", { sentMs, nowMs: clock.ms, retryAfterMs: 1_800_000 });
    first.fail("limit", "HTTP 429", "m", { sentMs, nowMs: clock.ms });
    t.equal(pool.wakesInMs(first, "m"), 1_800_000, "a call under way does not shorten it");
    first.use("m", clock.ms);
    first.fail("limit", "HTTP 429", "m", sentAt(clock));
    first.fail("model", "HTTP 404", "m", sentAt(clock));
    t.equal(pool.wakesInMs(first, "m"), 1_800_000, "nor does one that was sent since");
    clock.ms += 1_800_000;
    first.use("m", clock.ms);
    first.fail("limit", "HTTP 429", "m", sentAt(clock));
    t.equal(pool.wakesInMs(first, "m"), 1_000, "one that was sent after it rests for its own");
  });

  t.test("keep their rest if a call succeeds that was sent before the refusal", async (t) => {
    const { clock, pool, first } = newPool(FIRST, SECOND);
    const sentMs = clock.ms;
    clock.ms += 1_000;
    first.fail("limit", "HTTP 429", "m", sentAt(clock, 60_000));
    t.notOk(first.succeed("m", sentMs));
    t.equal(pool.wakesInMs(first, "m"), 60_000);
    t.ok(first.succeed("m", clock.ms));
    t.equal(pool.wakesInMs(first, "m"), 0);
  });

  t.test("are tried by one call after their rest, until it has a result", async (t) => {
    const { clock, free, first, second } = newPool(FIRST, SECOND);
    first.fail("key", "HTTP 401", "m", sentAt(clock));
    clock.ms += 60_000;
    t.strictSame(free(), [FIRST, SECOND]);
    first.use("m", clock.ms);
    second.use("m", clock.ms);
    t.strictSame(free(), [SECOND]);
    first.succeed("m", clock.ms);
    t.strictSame(free(), [FIRST, SECOND]);
  });

  t.test("wake in order if all rest", async (t) => {
    const { clock, pool, first, second } = newPool(FIRST, SECOND);
    first.fail("key", "HTTP 401", "m", sentAt(clock));
    second.fail("limit", "HTTP 429", "m", sentAt(clock, 5_000));
    t.equal(pool.hasAwake("m"), false);
    t.equal(pool.wakesFirst("m", [])?.text, SECOND);
    t.equal(pool.wakesFirst("m", [second])?.text, FIRST);
  });
});
