import { setImmediate as turnOver } from "node:timers/promises";
import t from "tap";
import type { HttpCall } from "../../../core/http/http-call.ts";
import type { ExtendResult } from "../../../core/money/hold-store.ts";
import type { CallPurse } from "../../../core/plugin/call.ts";
import { type Outcome, refuse, ServerEvent, type Sink } from "../../../core/plugin/index.ts";
import settle from "../../../plugins/settle/index.ts";
import {
  type Desk,
  deskOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  priced,
  SETTLE_SETTINGS,
} from "../../support/plugin-desk.ts";

type Settings = Parameters<typeof settle>[1];

/** A stream at 2 µđ a token with 10 tokens of input, held 16 tokens at a time, of at most 100. */
class Stream {
  readonly desk = deskOf();
  readonly call: HttpCall;
  readonly cuts: Outcome[] = [];
  pauses = 0;
  resumes = 0;
  readonly ends: Outcome[] = [];
  /** The output that reached the client. */
  readonly passed: unknown[] = [];
  sink: Sink | undefined;
  private readonly settings: Settings;

  constructor(changes: PreparedChanges = {}, settings: Partial<Settings> = {}) {
    this.settings = { ...SETTLE_SETTINGS, slice_tokens: 16, ...settings };
    const body = { model: "sim-large", messages: [], max_tokens: 100 };
    this.call = preparedCall({ stream: true, inputTokensBound: 10, body, ...changes });
    Object.assign(this.call, {
      flow: {
        pause: () => this.pauses++,
        resume: () => this.resumes++,
        flush() {},
        bug() {},
        cut: (outcome: Outcome) => this.cuts.push(outcome),
      },
    });
  }

  async begin(): Promise<this> {
    const plugin = settle(this.desk.services, this.settings);
    await plugin.request?.(this.call);
    const client: Sink = {
      head: (status) => this.passed.push(status),
      event: (event) => this.passed.push(event.data),
      data: (bytes) => this.passed.push(bytes.length),
      end: (outcome) => this.ends.push(outcome),
    };
    this.sink = plugin.stream?.(this.call, client);
    this.isWrapped = this.sink !== client;
    return this;
  }

  isWrapped = false;

  /** Delivers an event after which the client has `tokens` in all. */
  deliver(tokens: number): void {
    this.call.deliveredTokens = tokens;
    this.sink?.event(new ServerEvent(Buffer.from("data: x\n\n")));
  }

  /** The extensions so far: total and floor in µđ. */
  get extensions(): string[] {
    return this.desk.wallets.extends.map(
      ({ totalMicroVnd, floorMicroVnd }) => `${totalMicroVnd} ${floorMicroVnd}`,
    );
  }
}

/** Makes extensions of this desk wait; returns how to decide the one that waits. */
function waiting({ wallets }: Desk): (result: ExtendResult | Error) => Promise<void> {
  let settleLast: (result: ExtendResult | Error) => void = () => {};
  wallets.onExtend = () =>
    new Promise((resolve, reject) => {
      settleLast = (result) => (result instanceof Error ? reject(result) : resolve(result));
    });
  return async (result) => {
    settleLast(result);
    await turnOver();
  };
}

t.test("a stream's hold grows", async (t) => {
  t.test("once half a slice or less is left, by a slice beyond what it has", async (t) => {
    const stream = await new Stream().begin();
    stream.deliver(7);
    t.strictSame(stream.extensions, [], "9 of 16 tokens are left");
    stream.deliver(8);
    t.strictSame(stream.extensions, ["84 54"], "10 + 32 tokens, or at least 10 + 17");
    t.equal(stream.call.held?.outputTokens, 32);
    t.equal(stream.call.heldMicroVnd, 84);
    const { callId, accountId } = stream.desk.wallets.extends[0] ?? {};
    t.strictSame([callId, accountId], ["id", "A"]);
  });

  t.test("from what was delivered, if that is more", async (t) => {
    const stream = await new Stream().begin();
    stream.deliver(40);
    t.strictSame(stream.extensions, ["132 102"], "10 + 56 tokens, or at least 10 + 41");
    t.strictSame([stream.pauses, stream.cuts], [0, []]);
  });

  t.test("up to the call's limit and no further", async (t) => {
    const stream = await new Stream().begin();
    stream.deliver(95);
    t.strictSame(stream.extensions, ["220 212"], "10 + 100 tokens, or at least 10 + 96");
    stream.deliver(100);
    stream.deliver(130);
    t.equal(stream.extensions.length, 1);
    t.strictSame([stream.pauses, stream.cuts], [0, []], "the provider's own limit ends it");
  });

  t.test("beyond that limit once the provider ignores it by more than a quarter", async (t) => {
    const body = { model: "sim-large", messages: [], max_tokens: 400 };
    const stream = await new Stream({ body }).begin();
    stream.deliver(400);
    stream.deliver(500);
    t.strictSame(stream.extensions, ["820 820"]);
    stream.deliver(501);
    t.strictSame(
      stream.extensions.slice(1),
      ["1054 1024"],
      "10 + 517 tokens, or at least 10 + 502",
    );
  });

  t.test("by one request at a time", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(8);
    stream.deliver(9);
    t.equal(stream.extensions.length, 1);
    await decide({ kind: "held", amountMicroVnd: 84 });
    stream.deliver(24);
    t.equal(stream.extensions.length, 2);
  });

  t.test("to what the wallet has, if that covers the next token", async (t) => {
    const stream = await new Stream().begin();
    stream.desk.wallets.onExtend = () => ({ kind: "held", amountMicroVnd: 61 });
    stream.deliver(12);
    t.equal(stream.call.held?.outputTokens, 20, "61 µđ pay for 30 tokens, 10 of them input");
    t.strictSame(stream.cuts, []);
  });

  t.test("no longer once the stream has ended", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(20);
    t.equal(stream.pauses, 1);
    stream.sink?.end({ kind: "complete" });
    await decide({ kind: "gone" });
    t.strictSame([stream.cuts, stream.resumes, stream.ends], [[], 0, [{ kind: "complete" }]]);
    t.equal(stream.call.heldMicroVnd, 52, "the hold that the charge drops");
  });
});

t.test("a stream that outruns its extension", async (t) => {
  t.test("pauses once, and goes on as soon as it is granted", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(15);
    t.equal(stream.pauses, 0, "a token is left");
    stream.deliver(16);
    stream.deliver(17);
    t.strictSame([stream.pauses, stream.resumes], [1, 0]);
    await decide({ kind: "held", amountMicroVnd: 84 });
    t.strictSame([stream.pauses, stream.resumes, stream.cuts], [1, 1, []]);
    stream.deliver(40);
    t.equal(stream.pauses, 2, "and may wait again");
  });

  t.test("is not resumed if it never paused", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(8);
    await decide({ kind: "held", amountMicroVnd: 84 });
    t.equal(stream.resumes, 0);
  });

  t.test("goes on if the hold store fails: its post is spooled", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(16);
    await decide(new Error("redis is down"));
    t.strictSame([stream.resumes, stream.cuts], [1, []]);
    t.equal(stream.call.held?.outputTokens, 32);
    t.equal(stream.call.heldMicroVnd, 84);
  });
});

t.test("a stream whose extension is refused", async (t) => {
  const short = { kind: "short", purse: "wallet", availableMicroVnd: 1 } as const;

  t.test("delivers what it holds, then ends with 402", async (t) => {
    const stream = await new Stream().begin();
    stream.desk.wallets.onExtend = () => short;
    stream.deliver(15);
    t.strictSame(stream.cuts, []);
    stream.deliver(16);
    t.match(stream.cuts, [{ kind: "exhausted", refusal: { status: 402 } }]);
    t.equal(stream.extensions.length, 1, "asks no second time");
  });

  t.test("ends with the refusal of the purse that is used up", async (t) => {
    const refusal = () => refuse.rateLimited("the day's");
    const purses: CallPurse[] = [{ name: "day", limitMicroVnd: 1, refusal }];
    const stream = await new Stream({ purses }).begin();
    stream.desk.wallets.onExtend = () => ({ ...short, purse: "day" });
    stream.deliver(16);
    t.match(stream.cuts, [{ kind: "exhausted", refusal: { status: 429, message: "the day's" } }]);
  });

  t.test("ends if its hold is gone, and is not asked to top up", async (t) => {
    const stream = await new Stream().begin();
    stream.desk.wallets.onExtend = () => ({ kind: "gone" });
    stream.deliver(16);
    t.match(stream.cuts, [{ kind: "exhausted", refusal: { status: 503, message: /given back/ } }]);
  });

  t.test("ends only once it has delivered what it holds, if the refusal is late", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(8);
    await decide(short);
    t.strictSame(stream.cuts, []);
    stream.deliver(16);
    t.equal(stream.cuts.length, 1);
  });

  t.test("ends at once if it waits at the very end of its hold", async (t) => {
    const stream = await new Stream().begin();
    const decide = waiting(stream.desk);
    stream.deliver(16);
    t.strictSame([stream.pauses, stream.cuts], [1, []]);
    await decide(short);
    t.match(stream.cuts, [{ kind: "exhausted", refusal: { status: 402 } }]);
  });

  t.test("may finish if the options say so", async (t) => {
    const stream = await new Stream({}, { when_exhausted: "finish" }).begin();
    stream.desk.wallets.onExtend = () => short;
    stream.deliver(16);
    stream.deliver(90);
    t.strictSame([stream.cuts, stream.pauses], [[], 0]);
  });
});

t.test("a stream's parts pass through as they are", async (t) => {
  const stream = await new Stream().begin();
  stream.sink?.head(200, []);
  stream.deliver(1);
  stream.sink?.data(Buffer.alloc(3));
  t.strictSame(stream.passed, [200, "x", 3]);
});

t.test("only streams at a price per token are extended", async (t) => {
  const perCall = modelOf({ price: priced("call", 5_000) });
  t.ok((await new Stream().begin()).isWrapped);
  t.notOk((await new Stream({ stream: false }).begin()).isWrapped);
  t.notOk((await new Stream({ model: perCall }).begin()).isWrapped);
  t.notOk((await new Stream({ key: undefined }).begin()).isWrapped, "without a hold");
});
