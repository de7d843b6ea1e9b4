import assert from "node:assert/strict";
import t from "tap";
import { TokenCounter } from "../../../plugins/meter/token-counter.ts";
import { countedInput } from "../../../plugins/meter/tokenize.ts";
import { stoppedTimers } from "../../support/stopped-timers.ts";

const request = { messages: [{ role: "user", content: "How many tokens are in this sentence?" }] };
const BODY = Buffer.from(JSON.stringify(request));
const COUNTED = { kind: "counted", input: countedInput(request), model: undefined };
const KEY = "a key";
const BUSY = { kind: "busy" };

/** One is being counted while these wait. */
const WAITING_MAX = 256;
const WAITING_OF_KEY_MAX = 64;

t.test("the thread that counts tokens", async (t) => {
  const counter = new TokenCounter();
  t.teardown(() => counter.stop());

  t.test(
    "returns the same counts as counting in place, in the order of the requests",
    async (t) => {
      const others = ["a", "b c", "d e f"].map((content) => ({ messages: [{ content }] }));
      const counts = await Promise.all(
        others.map((other) => counter.count(KEY, Buffer.from(JSON.stringify(other)))),
      );
      t.strictSame(
        counts,
        others.map((other) => ({
          kind: "counted",
          input: countedInput(other),
          model: undefined,
        })),
      );
    },
  );

  t.test("reports what is wrong with a body, and keeps counting", async (t) => {
    const deep = `{"messages":[{"content":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`;
    for (const [body, param] of [
      ["no json", null],
      ["[]", null],
      ["{}", "messages"],
      ['{"messages":[]}', "messages"],
      ['{"messages":"x"}', "messages"],
      [deep, undefined],
    ] as const) {
      const count = await counter.count(KEY, Buffer.from(body));
      if (param === undefined) {
        t.not(count.kind, "busy");
        continue;
      }
      assert.ok(count.kind === "invalid", body);
      t.equal(count.param, param);
    }
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
  });

  t.test("passes the name of the model on, if it is one", async (t) => {
    for (const [model, name] of [
      ["m", "m"],
      [5, undefined],
    ]) {
      const body = Buffer.from(JSON.stringify({ ...request, model }));
      t.strictSame(await counter.count(KEY, body), { ...COUNTED, model: name });
    }
  });

  t.test("refuses a request if too many wait, and serves the others", async (t) => {
    const taken = Array.from({ length: WAITING_MAX + 1 }, (_, at) => {
      return counter.count(`key ${at % 10}`, BODY);
    });
    t.strictSame(await counter.count("one more", BODY), BUSY);
    for (const count of await Promise.all(taken)) t.strictSame(count, COUNTED);
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
  });

  t.test(
    "serves the key with the least work done, and limits how many of one key wait",
    async (t) => {
      const order: string[] = [];
      const ask = async (key: string) => {
        const { kind } = await counter.count(key, BODY);
        order.push(kind === "counted" ? key : kind);
      };
      const busy = Array.from({ length: WAITING_OF_KEY_MAX + 3 }, () => ask("busy"));
      const others = ["one", "two", "one"].map(ask);
      await Promise.all([...busy, ...others]);
      // The first is counted at once, without waiting; two are too many.
      t.strictSame(order.slice(0, 7), [
        ...["too_many", "too_many", "busy"],
        ...["one", "two", "busy", "one"],
      ]);
      t.equal(order.filter((key) => key === "busy").length, WAITING_OF_KEY_MAX + 1);
    },
  );

  t.test("serves a short request before the next long one of another key", async (t) => {
    const order: string[] = [];
    const ask = async (key: string, body: Uint8Array) => {
      const { kind } = await counter.count(key, body);
      order.push(kind === "counted" ? key : kind);
    };
    const long = () =>
      Buffer.from(JSON.stringify({ messages: [{ content: "a ".repeat(50_000) }] }));
    const hogs = [ask("hog", long()), ask("hog", long()), ask("hog", long())];
    const shorts = Array.from({ length: 5 }, () => ask("short", BODY));
    await Promise.all([...hogs, ...shorts]);
    t.strictSame(order, ["hog", ...Array.from({ length: 5 }, () => "short"), "hog", "hog"]);
  });

  t.test("keeps at most 64 MB of bodies, of one key 16 MB, or one body of any size", async (t) => {
    const large = (megabytes: number) => Buffer.alloc(megabytes * 1_048_576, " ");
    const waiting = [counter.count("first", BODY)];
    waiting.push(counter.count("huge", large(20)));
    t.strictSame(await counter.count("huge", large(1)), { kind: "too_many" });
    waiting.push(counter.count("a", large(16)), counter.count("b", large(16)));
    t.strictSame(await counter.count("c", large(13)), BUSY);
    waiting.push(counter.count("c", large(12)));
    const [first, ...others] = await Promise.all(waiting);
    t.strictSame(first, COUNTED);
    for (const { kind } of others) t.equal(kind, "invalid");
    t.strictSame(await counter.count("c", BODY), COUNTED);
  });

  t.test("takes a body over without a copy of it", async (t) => {
    const body = Buffer.from(JSON.stringify({ messages: [{ content: "a ".repeat(5_000) }] }));
    t.equal((await counter.count(KEY, body)).kind, "counted");
    t.equal(body.length, 0);
  });

  t.test("refuses a body of too many values before it is parsed", async (t) => {
    const messages = `[${"{},".repeat(150_000)}{}]`;
    const count = await counter.count(KEY, Buffer.from(`{"messages":${messages}}`));
    t.match(count, { kind: "invalid", problem: /too many values/ });
  });

  t.test("does not block the event loop while ten megabytes are counted", async (t) => {
    const content = "The toll road was older than the town. ".repeat(270_000);
    const body = Buffer.from(JSON.stringify({ messages: [{ role: "user", content }] }));
    t.ok(body.length > 10_000_000);
    await counter.count(KEY, BODY);
    let counting = true;
    const count = counter.count(KEY, body).finally(() => {
      counting = false;
    });
    let turns = 0;
    for (; counting; turns++) await new Promise((resolve) => setImmediate(resolve));
    const { kind } = await count;
    t.equal(kind, "counted");
    // Counted in place, the loop would not have run at all.
    t.ok(turns > 50, String(turns));
  });
});

t.test("a new thread that counts tokens", async (t) => {
  let counter: TokenCounter;
  t.beforeEach(() => {
    counter = new TokenCounter();
  });
  t.afterEach(async () => {
    await counter.stop();
  });

  t.test(
    "is replaced if a count takes longer than thirty seconds; waiting requests are served",
    async (t) => {
      await counter.count(KEY, BODY);
      const timers = stoppedTimers(t);
      const late = counter.count(KEY, BODY);
      const waiting = counter.count(KEY, BODY);
      timers.pass(29_999);
      timers.pass(1);
      t.strictSame(await late, BUSY);
      t.strictSame(await waiting, COUNTED);
    },
  );

  t.test("has two minutes to start, which a busy machine may need", async (t) => {
    const timers = stoppedTimers(t);
    const first = counter.count(KEY, BODY);
    timers.pass(119_999);
    t.strictSame(await first, COUNTED);
  });

  t.test("is replaced if it has not started in two minutes", async (t) => {
    const timers = stoppedTimers(t);
    const first = counter.count(KEY, BODY);
    timers.pass(120_000);
    t.strictSame(await first, BUSY);
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
  });

  t.test("has thirty seconds for each count once it has started, whenever that was", async (t) => {
    const timers = stoppedTimers(t);
    for (const passed of [0, 59_999, 59_999, 29_999]) {
      const count = counter.count(KEY, BODY);
      timers.pass(passed === 29_999 ? 29_999 : 0);
      t.strictSame(await count, COUNTED);
      if (passed !== 29_999) timers.pass(passed);
    }
  });

  t.test("needs time to start again once it has been idle for a minute, not before", async (t) => {
    const timers = stoppedTimers(t);
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
    timers.pass(59_999);
    const soon = counter.count(KEY, BODY);
    timers.pass(30_000);
    t.strictSame(await soon, BUSY, "still running");
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
    timers.pass(60_000);
    const later = counter.count(KEY, BODY);
    timers.pass(30_000);
    t.strictSame(await later, COUNTED, "starting again");
  });

  t.test("keeps no process running, and leaves nothing behind when it is stopped", async (t) => {
    const running = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout");
    const before = running().length;
    const count = counter.count(KEY, BODY);
    t.equal(running().length, before + 1);
    await counter.stop();
    t.equal(running().length, before);
    t.strictSame(await count, BUSY);
  });

  t.test("forgets after a minute how much it has counted for a key", async (t) => {
    let nowMs = 1_000_000;
    t.intercept(performance, "now", { value: () => nowMs, writable: true });
    const first = async (): Promise<string> => {
      const order: string[] = [];
      const ask = async (key: string) => {
        await counter.count(key, BODY);
        order.push(key);
      };
      await Promise.all([ask("running"), ask("hog"), ask("other")]);
      return order[1] ?? "";
    };
    await counter.count("hog", Buffer.alloc(100_000, " "));
    nowMs += 59_999;
    t.equal(await first(), "other");
    nowMs += 1;
    t.equal(await first(), "hog");
  });

  t.test("ends after a minute without work, and starts again for the next request", async (t) => {
    const timers = stoppedTimers(t);
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
    timers.pass(60_000);
    t.strictSame(await counter.count(KEY, BODY), COUNTED);
  });

  t.test("stops at once, even while it counts", async (t) => {
    const open = [counter.count(KEY, BODY), counter.count(KEY, BODY)];
    await counter.stop();
    t.strictSame(await Promise.all(open), [BUSY, BUSY]);
  });
});
