import type { Purse } from "../../core/money/hold-store.ts";
import type { Random } from "../support/random.ts";

/** A simulated call: its request, and what its provider and its client will do. */
export interface CallPlan {
  readonly number: string;
  readonly accountId: string;
  readonly keyId: string;
  /** Purses beside the wallet that it counts against. */
  readonly purses: readonly Purse[];
  /** Asks for a model that costs nothing. */
  readonly isFree: boolean;
  readonly stream: boolean;
  readonly maxTokens: number;
  readonly providerStatus: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly tokensPerChunk: number;
  readonly msPerToken: number;
  readonly firstByteMs: number;
  readonly reportsUsage: boolean;
  /** The provider's connection breaks after this many tokens. */
  readonly breaksAfterTokens: number;
  /** The client closes its connection after this time. */
  readonly leavesAfterMs: number;
  /** The client reads slowly: this long until it accepts more. */
  readonly readsAfterMs: number;
}

const OUTPUT_TOKENS_MAX = 400;
/** A client that reads slowly has the whole reply within this time, well before a world must have drained. */
const READING_MS_MAX = 60_000;

/** Plans a random call. `trouble`: share of calls that fail by themselves. */
export function planCall(
  random: Random,
  number: string,
  account: Pick<CallPlan, "accountId" | "keyId" | "purses" | "isFree">,
  trouble: number,
): CallPlan {
  const stream = random.chance(0.7);
  const outputTokens = 1 + random.below(random.chance(0.2) ? OUTPUT_TOKENS_MAX : 80);
  const isTroubled = () => random.chance(trouble / 4);
  const plan = {
    number,
    ...account,
    stream,
    maxTokens: outputTokens + random.below(100),
    providerStatus: isTroubled() ? random.pick([400, 429, 500]) : 200,
    inputTokens: 5 + random.below(15),
    outputTokens,
    tokensPerChunk: 1 + random.below(24),
    msPerToken: random.pick([0, 0.5, 2, 10, 40]),
    firstByteMs: random.below(random.chance(0.1) ? 3_000 : 60),
    reportsUsage: !isTroubled(),
    breaksAfterTokens: isTroubled() ? random.below(outputTokens) : Number.POSITIVE_INFINITY,
    leavesAfterMs: isTroubled() ? random.below(3_000) : Number.POSITIVE_INFINITY,
    readsAfterMs: isTroubled() ? 1 + random.below(300) : 0,
  };
  const chunks = Math.ceil(outputTokens / plan.tokensPerChunk);
  return {
    ...plan,
    readsAfterMs: Math.min(plan.readsAfterMs, Math.floor(READING_MS_MAX / chunks)),
  };
}
