import type { Directive } from "../support/provider/directive.ts";
import type { Random } from "../support/random.ts";
import { asking } from "../support/requests.ts";

/** A planned call: everything a client will do, drawn from the seed. */
export interface CallPlan {
  /** The model name that the client sends. If the gateway maps it, its usage record has it too. */
  readonly name: string;
  readonly path: "/v1/messages" | "/v1/chat/completions";
  readonly streamed: boolean;
  readonly microVndPerToken: bigint;
  readonly inputTokens: number;
  /** The length of a full reply; a wallet that runs out gets less. */
  readonly outputTokens: number;
  /** How the client reads; one that leaves does so after this many characters. */
  readonly reader: "prompt" | "slow" | { readonly leavesAfter: number };
  readonly body: string;
}

/** Below the gateway's bound for the shortest prompt, so that a hold covers its call. */
const INPUT_TOKENS_MAX = 20;
/** The price of the model to which unknown names are mapped; the record keeps the name. */
const MAPPED_MICRO_VND = 36_000n;
const CHAT_MODEL = "gpt-5.6-sol";
const CHAT_MICRO_VND = 38_000n;

/** Draws one call: short or long, streamed or not, in both protocols, native or translated. */
export function planCall(random: Random, number: number): CallPlan {
  const streamed = random.chance(0.6);
  const path = random.pick(["/v1/messages", "/v1/chat/completions"] as const);
  const isNative = path === "/v1/chat/completions" && random.chance(0.5);
  const name = isNative ? CHAT_MODEL : `chaos-${number}`;
  const inputTokens = 1 + random.below(INPUT_TOKENS_MAX);
  const isLong = streamed && random.chance(0.3);
  const outputTokens = isLong ? 100 + random.below(300) : 5 + random.below(60);
  const directive: Directive = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...pace(random, streamed, isLong),
    ...fault(random, streamed),
  };
  const limit = path === "/v1/messages" ? { max_tokens: 1_000 } : { max_completion_tokens: 1_000 };
  const options = streamed && random.chance(0.5) ? { include_usage: true } : undefined;
  return {
    name,
    path,
    streamed,
    microVndPerToken: isNative ? CHAT_MICRO_VND : MAPPED_MICRO_VND,
    inputTokens,
    outputTokens,
    reader: reader(random, streamed, outputTokens),
    body: JSON.stringify({
      model: name,
      ...limit,
      stream: streamed,
      ...(options && path === "/v1/chat/completions" && { stream_options: options }),
      messages: [{ role: "user", content: asking(directive) }],
    }),
  };
}

/** Draws a call that is over at once, to post many in a short time. */
export function planQuickCall(random: Random, number: number): CallPlan {
  const inputTokens = 1 + random.below(INPUT_TOKENS_MAX);
  const outputTokens = 1 + random.below(5);
  const name = `chaos-${number}`;
  const content = asking({ input_tokens: inputTokens, output_tokens: outputTokens });
  return {
    name,
    path: "/v1/messages",
    streamed: false,
    microVndPerToken: MAPPED_MICRO_VND,
    inputTokens,
    outputTokens,
    reader: "prompt",
    body: JSON.stringify({ model: name, max_tokens: 100, messages: [{ role: "user", content }] }),
  };
}

function pace(random: Random, streamed: boolean, isLong: boolean): Directive {
  if (!streamed) return { delay_ms: random.chance(0.2) ? random.below(1_500) : random.below(30) };
  return { event_delay_ms: isLong ? 5 + random.below(10) : random.below(4) };
}

/** A provider that fails now and then without being harmed. */
function fault(random: Random, streamed: boolean): Directive {
  if (!random.chance(0.03)) return {};
  const faults: Directive[] = [{ status: 500 }, { reset: true }, { cut_after_events: 3 }];
  if (streamed) faults.push({ error_after_events: 4 }, { end_after_events: -2 });
  return random.pick(faults);
}

function reader(random: Random, streamed: boolean, outputTokens: number): CallPlan["reader"] {
  if (streamed && random.chance(0.08)) return "slow";
  if (!random.chance(0.08)) return "prompt";
  return { leavesAfter: random.below(outputTokens * (streamed ? 4 : 1)) };
}
