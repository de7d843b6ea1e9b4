import t from "tap";
import { contentsOf, tokensOf } from "../../../plugins/meter/bound.ts";
import { familyOverhead } from "../../../plugins/meter/families.ts";
import { corpus } from "./corpus.ts";

const REQUESTS = 600;
/** A fixed seed, so that every run tests the same requests. */
const SEED = 20_261_123;
const LARGE = 300;

/** The plugin's defaults. */
const HOLD = {
  isBound: true,
  asciiBytesPerToken: 3,
  otherBytesPerToken: 1.5,
  imageTokens: 2500,
  documentBytesPerToken: 25,
  densityShare: 1,
  overheadShare: 1,
};

t.test(`the bound against the reported input, over ${REQUESTS} requests`, async (t) => {
  const held = corpus(REQUESTS, SEED).map(({ model, body, reported }) => ({
    model,
    reported,
    bound: tokensOf(contentsOf(body), HOLD, familyOverhead(model)),
  }));
  const below = held.filter(({ bound, reported }) => bound < reported);
  const covered = (100 * (held.length - below.length)) / held.length;
  const ratios = held
    .filter(({ reported }) => reported >= LARGE)
    .map(({ bound, reported }) => bound / reported)
    .sort((a, b) => a - b);
  const median = ratios[Math.floor(ratios.length / 2)] ?? 0;
  console.log(`bound at or above the report: ${covered.toFixed(1)} % of ${held.length} requests`);
  console.log(
    `median of ${ratios.length} requests of ${LARGE} tokens and more: ${median.toFixed(2)}`,
  );
  t.ok(covered >= 99, JSON.stringify(below));
  t.ok(median <= 1.6, String(median));
  t.ok(ratios.length >= 300, "most requests are large");
});
