import t from "tap";
import type { Surcharge } from "../../../core/catalogue/features.ts";
import { Usage } from "../../../core/plugin/index.ts";
import settle from "../../../plugins/settle/index.ts";
import {
  deskOf,
  keyOf,
  modelOf,
  type PreparedChanges,
  preparedCall,
  priced,
  replyHeaders,
  SETTLE_SETTINGS,
} from "../../support/plugin-desk.ts";

const perCall = modelOf({ price: priced("call", 5_000) });

function surchargeOf(changes: Partial<Surcharge> = {}): Surcharge {
  const none = { factor: 1, fees: new Map(), holdTokens: 0, holdFeesVnd: 0, unbounded: false };
  return { ...none, ...changes };
}

t.test(
  "the hold of a call with features, at 2 µđ a token with 100 + 50 tokens and a fee of 3 đ",
  async (t) => {
    const unbounded = { holdTokens: 30, unbounded: true };
    const fee = { holdTokens: 30, holdFeesVnd: 3 };
    const half = { key: keyOf({ discountBps: 5_000 }) };
    const free = { model: modelOf({ price: priced("mtok", 0) }) };
    const endless = { model: modelOf({ contextWindow: undefined }) };
    // The case | its surcharge | the call | amount and floor in µđ
    const table: [string, Partial<Surcharge>, PreparedChanges, string][] = [
      ["none", {}, {}, "300 202"],
      ["tokens that tools add", { holdTokens: 30 }, {}, "360 262"],
      ["and a fee", fee, {}, "3000360 3000262"],
      ["a fee has no discount", fee, half, "3000180 3000131"],
      ["a fee has no factor", { ...fee, factor: 1.5 }, {}, "3000540 3000393"],
      ["at any price of a token", { ...fee, factor: 3.5 }, {}, "3001260 3000917"],
      ["an input without a bound: the context window", unbounded, {}, "400100 262"],
      ["which the model does not state", unbounded, endless, "360 262"],
      ["nor any input", { unbounded: true }, { ...endless, inputTokensBound: 0 }, "100 2"],
      ["no input, with a bound", {}, { inputTokensBound: 0 }, "100 2"],
      ["a fee beside the context window", { ...fee, unbounded: true }, {}, "3400100 3000262"],
      ["a price per call", fee, { model: perCall }, "3005000 3005000"],
      ["has no window", unbounded, { model: perCall }, "5000 5000"],
      ["a fee of a free model", fee, free, "3000000 3000000"],
    ];
    for (const [what, surcharge, changes, expected] of table) {
      const desk = deskOf();
      const body = { model: "sim-large", messages: [], max_tokens: 50 };
      const call = preparedCall({ inputTokensBound: 100, body, ...changes });
      call.surcharge = surchargeOf(surcharge);
      await settle(desk.services, SETTLE_SETTINGS).request?.(call);
      const [hold] = desk.wallets.holds;
      t.equal(`${hold?.amountMicroVnd} ${hold?.floorMicroVnd}`, expected, what);
    }
  },
);

t.test("a call is charged a fee for each use that its provider reports", async (t) => {
  const fees: Surcharge["fees"] = new Map([
    ["web_search", 3],
    ["code_execution", 5],
  ]);
  // The uses reported | the cost in µđ beside 30 tokens at 2 µđ | the header of the fees
  const table: [Usage["uses"], number, string?][] = [
    [undefined, 0],
    [{}, 0],
    [{ web_search: 2 }, 6_000_000, "6"],
    [{ web_search: 2, code_execution: 1 }, 11_000_000, "11"],
    [{ web_fetch: 7 }, 0],
  ];
  for (const [uses, cost, header] of table) {
    const desk = deskOf();
    const plugin = settle(desk.services, SETTLE_SETTINGS);
    const call = preparedCall({ surcharge: surchargeOf({ fees }) });
    await plugin.request?.(call);
    const usage = Object.assign(new Usage(), { inputTokens: 10, outputTokens: 20, uses });
    Object.assign(call, { attempts: 1, status: 200, delivered: true, outcome: "complete", usage });
    await plugin.close?.(call);
    const [posting] = desk.wallets.posts;
    const what = JSON.stringify(uses ?? "none");
    t.strictSame([posting?.costMicroVnd, posting?.estimated], [60 + cost, false], what);
    t.equal(replyHeaders(call)["x-svc-fees-vnd"], header, what);
  }
});
