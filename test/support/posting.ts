import type { OutboxEntry, Posting, StoredEntry } from "../../core/money/outbox-entry.ts";
import { usageFieldList } from "../../core/money/usage-fields.ts";

type NullableName = {
  [Name in keyof Posting]: null extends Posting[Name] ? Name : never;
}[keyof Posting];

/** Fields that a posting may omit. */
const unknown = Object.fromEntries(
  usageFieldList.filter(({ nullable }) => nullable).map(({ name }) => [name, null]),
) as Record<NullableName, null>;

/** A posted call with a cost, and typical values for every other field. */
export function posting(call: Partial<Posting> & Pick<Posting, "callId" | "accountId">): Posting {
  return {
    ...unknown,
    keyId: "01900000-0000-7000-8000-00000000aaaa",
    at: Date.UTC(2025, 5, 15, 12),
    endpoint: "/v1/messages",
    model: "sim-large",
    mappedFrom: null,
    upstream: "main",
    inputTokens: 1_200,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 340,
    reasoningTokens: 0,
    images: 0,
    costMicroVnd: 0,
    discountBps: 0,
    latencyMs: 812.5,
    firstByteMs: 120,
    status: 200,
    streamed: true,
    outcome: "complete",
    estimated: false,
    unit: "mtok",
    unitPriceMicroVnd: 36_000_000_000,
    factors: null,
    catalogueVersion: "0123abcd",
    ...call,
  };
}

/** Returns entries, each of which must be readable. */
export function readable(entries: readonly StoredEntry[]): OutboxEntry[] {
  return entries.map((entry) => {
    if (entry.posting === undefined) throw new Error(`unreadable: ${entry.text}`);
    return entry;
  });
}

export function callIdOf({ posting }: StoredEntry): string | undefined {
  return posting?.callId;
}
