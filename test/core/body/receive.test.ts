import t from "tap";
import { BodyBudget, bodyTooLarge, receiveBody } from "../../../core/body/receive.ts";
import type { HttpResponse } from "../../../core/listener/index.ts";
import { systemClock } from "../../../core/process/clock.ts";

const MB = 1_048_576;
const LIMITS = { bodiesBytesMax: 1e9, bodyBytesMax: 1e9, callsMax: 10 };

/** A body that a test sends piece by piece, and what its reader asked of the connection. */
function begin(budget: BodyBudget, length?: number) {
  const asked: string[] = [];
  let arrive: (lent: ArrayBuffer, isLast: boolean) => void = () => {};
  let onAsked = () => {};
  const ask = (what: string) => {
    asked.push(what);
    onAsked();
  };
  const response = {
    onData: (handler: typeof arrive) => {
      arrive = handler;
    },
    pause: () => ask("pause"),
    resume: () => ask("resume"),
  };
  const share = budget.open({ key: { accountId: "a" } });
  const onWhole = (body: Buffer) => ask(`whole ${body.length}`);
  const onRefused = () => ask("refused");
  const expected = { bytesMax: 1e9, length, share, onWhole, onRefused };
  return {
    asked,
    reading: receiveBody(response as unknown as HttpResponse, expected),
    send: (bytes: number, isLast = false) => arrive(new ArrayBuffer(bytes), isLast),
    /** Resolves when the reader asks for something more. */
    asksMore: () =>
      new Promise<void>((resolve) => {
        onAsked = resolve;
      }),
  };
}

t.test("the body of a call that is not admitted yet", async (t) => {
  const begun = () => begin(new BodyBudget(LIMITS, systemClock));

  t.test("is read no further than 64 KB, and to its end once it is admitted", async (t) => {
    const { asked, reading, send } = begun();
    send(65_535);
    t.strictSame(asked, []);
    send(1);
    send(10);
    t.strictSame(asked, ["pause"], "the socket may still deliver what it has");
    reading.admit();
    send(100_000);
    send(4, true);
    t.strictSame(asked, ["pause", "resume", "whole 165550"]);
  });

  t.test("is read on, and dropped, if it is refused", async (t) => {
    const { asked, reading, send } = begun();
    send(100_000);
    reading.discard();
    send(100_000);
    send(0, true);
    t.strictSame(asked, ["pause", "resume", "whole 0"]);
  });

  t.test("is never paused if it is admitted at once, or short", async (t) => {
    const admitted = begun();
    admitted.reading.admit();
    admitted.send(1_000_000);
    t.strictSame(admitted.asked, []);
    const short = begun();
    short.send(70_000, true);
    t.strictSame(short.asked, ["whole 70000"]);
  });
});

t.test("a body that arrives slowly has its timeout renewed every 2 s", async (t) => {
  let nowMs = 0;
  const { asked, reading, send } = begin(new BodyBudget(LIMITS, { monotonic: () => nowMs }), 100);
  reading.admit();
  for (nowMs of [1_000, 2_000, 3_000, 4_000]) send(10);
  t.strictSame(asked, ["pause", "resume", "pause", "resume"]);
  nowMs = 6_000;
  send(60, true);
  t.equal(asked.at(-1), "whole 100", "its end needs none");
  t.equal(asked.length, 5);
});

t.test("a long body of an account that sends too many", async (t) => {
  /** The account has just sent all that it may at once. */
  const busy = () => {
    const budget = new BodyBudget(LIMITS, { monotonic: () => 1_000 });
    budget.open({ key: { accountId: "a" } }).read(33 * MB);
    return budget;
  };
  const CHUNK = 300 * 1_024;

  t.test("waits after its first half MB, in pieces, and arrives whole", async (t) => {
    const { asked, reading, send, asksMore } = begin(busy(), 4 * CHUNK);
    reading.admit();
    send(CHUNK);
    t.strictSame(asked, []);
    for (const _ of [2, 3]) {
      send(CHUNK);
      t.equal(asked.pop(), "pause");
      await asksMore();
      t.equal(asked.pop(), "resume");
    }
    send(CHUNK, true);
    t.strictSame(asked, [`whole ${4 * CHUNK}`]);
  });

  t.test("is left alone once its call has ended", async (t) => {
    const budget = busy();
    const [ended, later] = [begin(budget, 4 * CHUNK), begin(budget, 4 * CHUNK)];
    for (const { reading, send } of [ended, later]) {
      reading.admit();
      send(2 * CHUNK);
    }
    ended.reading.stop();
    ended.send(CHUNK);
    await later.asksMore();
    t.strictSame(later.asked, ["pause", "resume"]);
    t.strictSame(ended.asked, ["pause"]);
  });

  t.test("is read to its end if that arrives after the pause", async (t) => {
    const { asked, reading, send } = begin(busy());
    reading.admit();
    send(2 * CHUNK);
    send(CHUNK, true);
    t.strictSame(asked, ["pause", "resume", `whole ${3 * CHUNK}`]);
  });

  t.test("is read and dropped if it is refused, but not one after the other", async (t) => {
    const budget = new BodyBudget(LIMITS, { monotonic: () => 1_000 });
    const refused = () => {
      const { asked, reading, send } = begin(budget, 20 * MB);
      send(CHUNK);
      reading.discard();
      return asked.at(-1);
    };
    t.equal(refused(), "resume");
    for (let more = 0; more < 20; more++) refused();
    t.equal(refused(), "pause");
    for (let more = 0; more < 100; more++) refused();
    const last = begin(budget, 20 * MB);
    last.reading.discard();
    t.equal(last.reading.mustCut, true);
    const short = begin(budget, CHUNK + 60_000);
    short.send(CHUNK);
    short.reading.discard();
    t.strictSame(short.asked, ["pause", "resume"], "the rest of a short one is always read");
  });
});

t.test("a refusal names the limit of a body as people write it", async (t) => {
  for (const [bytes, said] of [
    [0, /takes no body/],
    [65_536, /limit of 64 KB/],
    [20 * MB, /limit of 20 MB/],
  ] as const) {
    t.match(bodyTooLarge(bytes).message, said);
  }
});

t.test("a body that a call has counts until the call drops it", async (t) => {
  const limits = { bodiesBytesMax: 4_000_000, bodyBytesMax: 1_000_000, callsMax: 4 };
  const budget = new BodyBudget(limits, systemClock);
  const [one, two, three] = [budget.open(), budget.open(), budget.open()];
  t.equal(one.ofAccount("a", 900_000), undefined);
  one.add(900_000);
  one.hand();
  one.release();
  t.equal(two.ofAccount("a", 200_000)?.status, 429);
  t.equal(two.ofAccount("a", 10_000), undefined, "it does not arrive any more");
  one.letGo();
  one.letGo();
  two.hand();
  t.equal(three.ofAccount("a", 900_000), undefined);
  three.hand();
  t.equal(budget.open().ofAccount("a", 200_000)?.status, 429, "it is let go once");
});

t.test(
  "a body that announces more than its account's share is refused before it arrives",
  async (t) => {
    const budget = new BodyBudget(
      { bodiesBytesMax: 4_000_000, bodyBytesMax: 1_000_000, callsMax: 10 },
      systemClock,
    );
    const [one, two, three, other] = [budget.open(), budget.open(), budget.open(), budget.open()];
    t.equal(one.ofAccount("a", 900_000), undefined);
    t.equal(one.add(900_000), undefined, "its bytes are counted already");
    t.equal(two.ofAccount("a", 200_000)?.status, 429);
    t.equal(other.ofAccount("b", 900_000), undefined);
    t.equal(three.ofAccount("a", 10_000), undefined, "a short one is served");
    t.equal(three.add(200_000)?.status, 429, "unless it is longer than announced");
    one.release();
    three.release();
    t.equal(budget.open().ofAccount("a", 1_000_000), undefined);
  },
);

t.test(
  "of long bodies that hold no money, an account may send one at a time, and all few",
  async (t) => {
    const budget = new BodyBudget(
      {
        bodiesBytesMax: 16_000_000,
        bodyBytesMax: 1_000_000,
        callsMax: 100,
      },
      systemClock,
    );
    const free = (key: string, bytes: number) => {
      const share = budget.open();
      return { share, refused: share.ofAccount(key, bytes, true)?.status };
    };
    const first = free("a", 900_000);
    t.equal(first.refused, undefined);
    t.equal(free("a", 200_000).refused, 429);
    t.equal(free("a", 20_000).refused, undefined, "a short one is read beside it");
    t.equal(budget.open().ofAccount("a", 900_000), undefined, "a call of the same account is read");
    t.equal(free("b", 1_000_000).refused, undefined);
    t.equal(free("c", 200_000).refused, 503, "an eighth of the budget is for such bodies");
    first.share.release();
    t.equal(free("c", 200_000).refused, undefined);
    const chunked = free("d", 0);
    t.equal(chunked.refused, undefined);
    t.equal(
      chunked.share.add(900_000)?.status,
      503,
      "one that announces nothing is counted as it arrives",
    );
  },
);
