import t from "tap";
import { Catalogue } from "../../../core/catalogue/catalogue.ts";
import {
  factorsOf,
  NO_FACTORS,
  ONE,
  type StatedFactors,
} from "../../../core/catalogue/price-factors.ts";
import type { ExtendRequest, ExtendResult } from "../../../core/money/hold-store.ts";
import { Tariff } from "../../../core/money/tariff.ts";
import { COMPLETE, type Held } from "../../../core/plugin/call.ts";
import { type Call, refuse, ServerEvent, type Sink, Usage } from "../../../core/plugin/index.ts";
import { HoldExtender } from "../../../plugins/settle/hold-extender.ts";
import type { Wallets } from "../../../plugins/settle/posting.ts";

const TARIFF = new Tariff({
  unit: "mtok",
  microVnd: 1,
  factors: NO_FACTORS,
  discountBps: 0,
  discounts: null,
  catalogueVersion: "",
});

/** A hold of an input and 16 tokens of output. */
function heldOf(inputTokens: number, outputTokensMax: number): Held {
  const base = { baseQuantity: inputTokens * ONE, feesMicroVnd: 0 };
  const catalogue = new Catalogue([]);
  return { tariff: TARIFF, catalogue, ...base, outputTokens: 16, outputTokensMax };
}

/** A stream whose first event reports its input. */
function reporting(
  report: number | Partial<Usage>,
  extend: (request: ExtendRequest) => ExtendResult | Promise<ExtendResult>,
  settings: { onShort?: () => ReturnType<typeof refuse.insufficientBalance> } = {},
  factors: StatedFactors | null = null,
) {
  const tariff = new Tariff({ ...TARIFF, factors: factorsOf(factors) });
  const held = { ...heldOf(100, 20), tariff };
  const asked: string[] = [];
  const flow = { pauses: 0, resumes: 0, cuts: 0 };
  const call = {
    id: "c",
    held,
    deliveredTokens: 0,
    usage: new Usage(),
    flow: {
      pause: () => flow.pauses++,
      resume: () => flow.resumes++,
      cut: () => flow.cuts++,
    },
  };
  const client: Sink = { head() {}, event() {}, data() {}, end() {} };
  const wallets = {
    extend(request: ExtendRequest) {
      asked.push(`${request.totalMicroVnd} ${request.floorMicroVnd}`);
      return extend(request);
    },
  };
  const onShort = () => refuse.insufficientBalance("no money");
  const extender = new HoldExtender(
    call as unknown as Call,
    client,
    held,
    wallets as unknown as Wallets,
    { sliceTokens: 16, onShort, ...settings },
  );
  const event = (deliveredTokens = 0) => {
    Object.assign(call.usage, typeof report === "number" ? { inputTokens: report } : report);
    call.deliveredTokens = deliveredTokens;
    extender.event(new ServerEvent(Buffer.from("data: x\n\n")));
  };
  const end = () => extender.end(COMPLETE);
  return { held, asked, flow, event, end };
}

const granted = ({ totalMicroVnd }: ExtendRequest): ExtendResult => ({
  kind: "held",
  amountMicroVnd: totalMicroVnd,
});
const short = (): ExtendResult => ({ kind: "short", purse: "wallet", availableMicroVnd: 1 });

t.test("a stream whose first event reports more input than is held", async (t) => {
  t.test("extends its hold at once", async (t) => {
    const { held, asked, flow, event } = reporting(5_000, granted);
    event();
    t.strictSame(asked, ["5016 5001"]);
    t.match(held, { baseQuantity: 5_000 * ONE, outputTokens: 16 });
    event();
    t.equal(asked.length, 1, "once");
    t.equal(flow.cuts, 0);
  });

  t.test("extends it to what the reported parts cost", async (t) => {
    const factors = { cached_input: 0.1, cache_write: 1.25, output: 4 };
    const table: [Partial<Usage>, string[]][] = [
      [{ inputTokens: 500, cacheReadTokens: 460 }, []], // 86 of 100
      [{ inputTokens: 100, cacheWriteTokens: 80 }, ["184 124"]], // 120 and 16 x 4
      [{ inputTokens: 90, outputTokens: 50 }, []],
    ];
    for (const [report, expected] of table) {
      const { asked, event } = reporting(report, granted, {}, factors);
      event();
      t.strictSame(asked, expected, JSON.stringify(report));
    }
  });

  t.test("is cut at once if the wallet does not cover it", async (t) => {
    const { flow, event } = reporting(5_000, short);
    event();
    t.equal(flow.cuts, 1);
  });

  t.test("waits for a decision that takes time", async (t) => {
    const late = reporting(5_000, async () => short());
    late.event();
    t.strictSame(late.flow, { pauses: 1, resumes: 0, cuts: 0 });
    await new Promise(setImmediate);
    t.equal(late.flow.cuts, 1);
    const enough = reporting(5_000, async (request) => granted(request));
    enough.event();
    await new Promise(setImmediate);
    t.strictSame(enough.flow, { pauses: 1, resumes: 1, cuts: 0 });
  });

  t.test("goes on to the end of its hold, if a later extension is refused", async (t) => {
    for (const isLate of [false, true]) {
      let isRich = true;
      const decide = (request: ExtendRequest) => (isRich ? granted(request) : short());
      const { asked, flow, event } = reporting(5_000, (request) =>
        isLate ? Promise.resolve(decide(request)) : decide(request),
      );
      event();
      await new Promise(setImmediate);
      isRich = false;
      event(15);
      await new Promise(setImmediate);
      t.strictSame([asked.length, flow.cuts], [2, 0], "15 of 16 tokens");
      event(16);
      t.equal(flow.cuts, 1);
    }
  });

  t.test("changes nothing if it is within what is held, or comes at the end", async (t) => {
    const within = reporting(100, short);
    within.event();
    t.strictSame([within.asked, within.flow.cuts], [[], 0]);
    const over = reporting(5_000, short);
    over.end();
    over.event();
    t.strictSame([over.asked, over.flow.cuts], [[], 0], "a late event");
    const end = reporting(5_000, short);
    end.event(3);
    t.strictSame([end.asked, end.flow.cuts], [[], 0]);
  });
});

t.test("a stream that runs past its own limit", async (t) => {
  t.test("is extended, and cut if that is refused", async (t) => {
    const paid = reporting(0, granted);
    paid.event(20);
    paid.event(84);
    t.equal(paid.held.outputTokens, 20, "as much more is within an estimate");
    paid.event(85);
    t.equal(paid.held.outputTokens, 101);
    const poor = reporting(0, (request) =>
      request.totalMicroVnd > 120 ? short() : granted(request),
    );
    poor.event(84);
    t.equal(poor.flow.cuts, 0);
    poor.event(85);
    t.equal(poor.flow.cuts, 1);
  });
});
