import t from "tap";
import type { ExtendRequest, ExtendResult } from "../../../core/contract/hold-store.ts";
import {
  type Call,
  type Held,
  refuse,
  ServerEvent,
  type Sink,
  type Wallets,
} from "../../../core/contract/index.ts";
import { HoldExtender } from "../../../plugins/settle/hold-extender.ts";

const TARIFF = { unit: "mtok", microVnd: 1, discountBps: 0, discounts: null, catalogueVersion: "" };
const CHUNK_TOKENS = 30;

/** A stream with chunks of 30 tokens that holds 16 ahead, on a wallet with `available` left. */
class Stream {
  readonly held = { tariff: TARIFF, baseUnits: 0, outputTokens: 16, outputTokensMax: 500 } as Held;
  readonly flow = { pauses: 0, resumes: 0, cuts: 0 };
  private readonly call: Call;
  private readonly extender: HoldExtender;

  constructor(extend: (request: ExtendRequest) => ExtendResult | Promise<ExtendResult>) {
    const { flow, held } = this;
    const call = {
      id: "c",
      held,
      deliveredTokens: 0,
      flow: {
        pause: () => flow.pauses++,
        resume: () => flow.resumes++,
        cut: () => flow.cuts++,
      },
    };
    this.call = call as unknown as Call;
    const client: Sink = {
      head() {},
      event: () => {
        call.deliveredTokens += CHUNK_TOKENS;
      },
      data() {},
      end() {},
    };
    const onShort = () => refuse.insufficientBalance("no money");
    this.extender = new HoldExtender(this.call, client, held, { extend } as unknown as Wallets, {
      sliceTokens: 16,
      onShort,
    });
  }

  chunk(): void {
    this.extender.event(new ServerEvent(Buffer.from("data: x\n\n")));
  }
}

/** A wallet that gets a token back now and then, as other calls void their holds. */
function dribbling(): (request: ExtendRequest) => ExtendResult {
  let held = 16;
  return ({ totalMicroVnd, floorMicroVnd }) => {
    const most = Math.min(totalMicroVnd, held + 1);
    if (most < floorMicroVnd) return { kind: "short", limit: "wallet", availableMicroVnd: 1 };
    held = most;
    return { kind: "held", amountMicroVnd: most };
  };
}

t.test("a stream that outruns its hold", async (t) => {
  t.test(
    "is cut if the wallet affords less than was delivered, even if it affords a little",
    async (t) => {
      const stream = new Stream(dribbling());
      stream.chunk();
      t.equal(stream.flow.cuts, 1);
    },
  );

  t.test("waits for an extension in flight, and continues once it is granted", async (t) => {
    let decide: (result: ExtendResult) => void = () => {};
    const stream = new Stream(() => new Promise((resolve) => (decide = resolve)));
    stream.chunk();
    stream.chunk();
    t.strictSame(stream.flow, { pauses: 1, resumes: 0, cuts: 0 });
    decide({ kind: "held", amountMicroVnd: 100 });
    await new Promise(setImmediate);
    t.strictSame(stream.flow, { pauses: 1, resumes: 1, cuts: 0 });
  });

  t.test("is cut while it waits if the extension is refused", async (t) => {
    const stream = new Stream(async () => ({ kind: "gone" }));
    stream.chunk();
    await new Promise(setImmediate);
    t.equal(stream.flow.cuts, 1);
  });
});
