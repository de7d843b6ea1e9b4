import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { TokenCounter } from "../../../plugins/meter/token-counter.ts";
import { tokensOfRequest } from "../../../plugins/meter/tokenize.ts";

const request = { messages: [{ role: "user", content: "How many tokens are in this sentence?" }] };
const BODY = Buffer.from(JSON.stringify(request));
const COUNTED = { kind: "counted", tokens: tokensOfRequest(request), model: undefined };
const KEY = "a key";
const BUSY = { kind: "busy" };

/** One is counted while so many wait. */
const WAITING_MAX = 64;
const WAITING_OF_KEY_MAX = 8;

describe("the thread that counts tokens", () => {
  let counter: TokenCounter;
  beforeEach(() => {
    counter = new TokenCounter();
  });
  afterEach(async () => {
    await counter.stop();
    mock.timers.reset();
  });

  it("answers what is counted in place, in the order of the questions", async () => {
    const others = ["a", "b c", "d e f"].map((content) => ({ messages: [{ content }] }));
    const counts = await Promise.all(
      others.map((other) => counter.count(KEY, Buffer.from(JSON.stringify(other)))),
    );
    assert.deepEqual(
      counts,
      others.map((other) => ({
        kind: "counted",
        tokens: tokensOfRequest(other),
        model: undefined,
      })),
    );
  });

  it("says what is wrong with a body, and goes on", async () => {
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
        assert.notEqual(count.kind, "busy");
        continue;
      }
      assert.ok(count.kind === "invalid", body);
      assert.equal(count.param, param);
    }
    assert.deepEqual(await counter.count(KEY, BODY), COUNTED);
  });

  it("turns away who comes while too many wait, and serves the others", async () => {
    const taken = Array.from({ length: WAITING_MAX + 1 }, (_, at) => {
      return counter.count(`key ${at % 10}`, BODY);
    });
    assert.deepEqual(await counter.count("one more", BODY), BUSY);
    for (const count of await Promise.all(taken)) assert.deepEqual(count, COUNTED);
    assert.deepEqual(await counter.count(KEY, BODY), COUNTED);
  });

  it("takes keys in turn, and from none more than its share", async () => {
    const order: string[] = [];
    const ask = async (key: string) => {
      const { kind } = await counter.count(key, BODY);
      order.push(kind === "counted" ? key : kind);
    };
    const busy = Array.from({ length: WAITING_OF_KEY_MAX + 3 }, () => ask("busy"));
    const others = ["one", "two", "one"].map(ask);
    await Promise.all([...busy, ...others]);
    // The first is counted at once and waits for nobody; two are too many.
    assert.deepEqual(order.slice(0, 8), [
      ...["too_many", "too_many", "busy"],
      ...["busy", "one", "two", "busy", "one"],
    ]);
    assert.equal(order.filter((key) => key === "busy").length, WAITING_OF_KEY_MAX + 1);
  });

  it("is replaced where it takes longer than ten seconds, and serves those who waited", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const late = counter.count(KEY, BODY);
    const waiting = counter.count(KEY, BODY);
    mock.timers.tick(9_999);
    mock.timers.tick(1);
    assert.deepEqual(await late, BUSY);
    assert.deepEqual(await waiting, COUNTED);
  });

  it("ends after a minute without a question, and is there for the next one", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    assert.deepEqual(await counter.count(KEY, BODY), COUNTED);
    mock.timers.tick(60_000);
    assert.deepEqual(await counter.count(KEY, BODY), COUNTED);
  });

  it("stops at once, whatever is under way", async () => {
    const open = [counter.count(KEY, BODY), counter.count(KEY, BODY)];
    await counter.stop();
    assert.deepEqual(await Promise.all(open), [BUSY, BUSY]);
  });

  it("leaves the event loop free while ten megabytes are counted", async () => {
    const content = "The toll road was older than the town. ".repeat(270_000);
    const body = Buffer.from(JSON.stringify({ messages: [{ role: "user", content }] }));
    assert.ok(body.length > 10_000_000);
    await counter.count(KEY, BODY);
    let counting = true;
    const count = counter.count(KEY, body).finally(() => {
      counting = false;
    });
    let turns = 0;
    for (; counting; turns++) await new Promise((resolve) => setImmediate(resolve));
    const { kind } = await count;
    assert.equal(kind, "counted");
    // Counted in place, the loop would not have turned at all.
    assert.ok(turns > 50, String(turns));
  });
});
