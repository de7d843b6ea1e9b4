import t from "tap";
import { Usage } from "../../../core/plugin/index.ts";
import { withdrawImplausible } from "../../../plugins/meter/implausible.ts";
import { modelOf } from "../../support/plugin-desk.ts";

const model = modelOf({ contextWindow: 100, maxOutputTokens: 10 });

/** The usage that is left of a report, as `input read write / output reasoning`, and what was withdrawn. */
function left(report: Partial<Usage>, choices = 1, of = model): [string, unknown] {
  const usage = Object.assign(
    new Usage(),
    { inputTokens: 7, outputTokens: 3, inputReported: true, outputReported: true },
    report,
  );
  const withdrawn = withdrawImplausible(usage, of, choices);
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const input = `${inputTokens} ${cacheReadTokens} ${cacheWriteTokens}`;
  const reported = `${usage.inputReported ? "" : "?"}/${usage.outputReported ? "" : "?"}`;
  return [`${input} ${reported} ${outputTokens} ${reasoningTokens}`, withdrawn];
}

t.test(
  "a reported number beyond ten times the model's limits counts as not reported",
  async (t) => {
    const parts = { cacheReadTokens: 5, cacheWriteTokens: 2, reasoningTokens: 1 };
    const table: [string, Partial<Usage>, string, unknown][] = [
      ["input at the limit", { inputTokens: 1_000, ...parts }, "1000 5 2 / 3 1", undefined],
      ["input beyond", { inputTokens: 1_001, ...parts }, "0 0 0 ?/ 3 1", { inputTokens: 1_001 }],
      ["output at the limit", { outputTokens: 100, ...parts }, "7 5 2 / 100 1", undefined],
      ["output beyond", { outputTokens: 101, ...parts }, "7 5 2 /? 0 0", { outputTokens: 101 }],
      ["cache reads at the limit", { cacheReadTokens: 1_000 }, "7 1000 0 / 3 0", undefined],
      ["cache reads beyond", { cacheReadTokens: 1_001 }, "7 0 0 / 3 0", undefined],
      ["cache writes at the limit", { cacheWriteTokens: 1_000 }, "7 0 1000 / 3 0", undefined],
      ["cache writes beyond", { cacheWriteTokens: 1_001 }, "7 0 0 / 3 0", undefined],
      ["reasoning at the limit", { reasoningTokens: 100 }, "7 0 0 / 3 100", undefined],
      ["reasoning beyond", { reasoningTokens: 101 }, "7 0 0 / 3 0", undefined],
    ];
    for (const [what, report, usage, withdrawn] of table) {
      t.strictSame(left(report), [usage, withdrawn], what);
    }
    const both = { inputTokens: 1_001, outputTokens: 101 };
    t.strictSame(left(both), ["0 0 0 ?/? 0 0", both]);
  },
);

t.test("each choice may have the whole output", async (t) => {
  t.equal(left({ outputTokens: 300 }, 3)[1], undefined);
  t.strictSame(left({ outputTokens: 301 }, 3)[1], { outputTokens: 301 });
});

t.test("a model without limits has those of large models", async (t) => {
  const open = modelOf({ contextWindow: undefined, maxOutputTokens: undefined });
  t.equal(left({ inputTokens: 10_000_000, outputTokens: 320_000 }, 1, open)[1], undefined);
  t.strictSame(left({ inputTokens: 10_000_001, outputTokens: 320_001 }, 1, open)[1], {
    inputTokens: 10_000_001,
    outputTokens: 320_001,
  });
});

t.test("the passes of a report that is withdrawn are not added again", async (t) => {
  const usage = Object.assign(new Usage(), { inputTokens: 5e9, inputReported: true });
  const parts = { outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  usage.passes = [{ model: null, inputTokens: 5e9, ...parts }];
  withdrawImplausible(usage, model, 1);
  t.strictSame([usage.inputTokens, usage.passes], [0, []]);
});
