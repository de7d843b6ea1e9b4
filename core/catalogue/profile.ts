import * as v from "valibot";
import { described, mapping, setting, whole } from "../process/options.ts";

/** Effort levels in ascending order. A profile lists those its model accepts. */
export const EFFORT_LEVELS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;

const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const limit = v.nullable(count);
const effortLevels = v.pipe(v.array(v.picklist(["none", ...EFFORT_LEVELS])), v.nonEmpty());
const temperature = v.pipe(v.number(), v.minValue(0), v.maxValue(2));
const samplingValues = v.strictObject({
  temperature: v.optional(temperature),
  top_p: v.optional(temperature),
});

const tokens = (what: string) =>
  setting(whole(0, 1_000_000), `Input tokens that the provider adds ${what}.`);

/**
 * Input that a provider counts and that the text of a request does not show, in tokens. A profile states what differs
 * from the model's family; `plugins/meter/families.ts` has the families.
 */
const overheadTokens = mapping({
  text_percent: setting(
    whole(50, 500),
    "Tokens of a text, in percent of those that other tokenizers need for it.",
  ),
  request: tokens("to each request"),
  tools: tokens("to a request with tools, once"),
  built_in_tool: tokens("for each tool of its own that the client runs, such as bash"),
  schema: tokens("to a request for structured output"),
  page: tokens("for each page of a PDF, in addition to its text"),
  page_text: tokens("for the text on a page of a PDF at most"),
  image: v.optional(
    mapping({
      base: described(whole(0, 1_000_000), "Tokens of each image."),
      side: described(whole(8, 10_000), "Pixels of the side of a tile."),
      tile_milli: described(whole(0, 100_000_000), "Thousandths of a token for each tile."),
      most: described(whole(1, 1_000_000), "Maximum tokens of an image."),
    }),
  ),
  audio_second: tokens("for each second of audio"),
});

/**
 * The requests that an upstream model accepts, as the config states them for an upstream or a route. All keys are
 * optional. Calls in the model's own protocol are edited only by keys that are stated.
 *
 * An upstream may speak both protocols, so one object has the keys of both. If a key takes different values in each,
 * each protocol reads only the values that it knows.
 */
export const profile = v.strictObject({
  /**
   * The maker of the model. Reasoning state, such as signatures, goes back only to models of this maker. Default: the
   * upstream's name.
   */
  maker: v.optional(v.pipe(v.string(), v.regex(/^[a-z]{1,32}$/, "1 to 32 small letters"))),
  /**
   * Responses: the organisation at the provider whose keys alone can decrypt the reasoning that they gave. Such
   * reasoning goes back only to routes of the same organisation; others get the conversation without it. State it if
   * the keys of a model's routes belong to several.
   */
  organisation: v.optional(
    v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/, "1 to 64 letters, digits, - and _")),
  ),
  /** Chat: how strict the server is. `openai`: OpenAI and Azure. `compatible`: vLLM, Groq and others. */
  dialect: v.optional(v.picklist(["openai", "compatible"])),
  /** Chat: the field of the output limit. The dialect sets the default. */
  max_tokens_field: v.optional(v.picklist(["max_completion_tokens", "max_tokens"])),
  /**
   * Chat: `full`, or `fixed` if the model refuses sampling fields. Messages: `one` of temperature and top_p, `both`, or
   * `none`. A mapping: only these values are taken.
   */
  sampling: v.optional(
    v.union([v.picklist(["full", "fixed", "one", "both", "none"]), samplingValues]),
  ),
  /** Chat: the lowest and the highest temperature. Others become the nearer one. */
  temperature_range: v.optional(v.tuple([temperature, temperature])),
  /** Chat: the server takes `top_k`. */
  top_k: v.optional(v.boolean()),
  /** Chat: how many stop sequences the server takes; null = unlimited. The dialect sets the default. */
  max_stops: v.optional(limit),
  /** Chat: false if the model takes no stop sequences. */
  stop: v.optional(v.boolean()),
  /** Chat: false if the model takes no penalties, logit_bias and logprobs. */
  penalties: v.optional(v.boolean()),
  /**
   * Chat: how to steer reasoning. `none`: not at all; `thinking`: by `thinking: { type }`; `thinking+effort`: by both;
   * `enable_thinking`: by that boolean.
   */
  reasoning: v.optional(
    v.picklist(["effort", "none", "thinking", "thinking+effort", "enable_thinking"]),
  ),
  /** The effort levels that the model accepts. The level `none`, if it is in the list, switches reasoning off. */
  effort_levels: v.optional(effortLevels),
  /**
   * The replacement for "no thinking" if the model cannot switch thinking off. `lowest`: the lowest effort. `refuse`:
   * 400.
   */
  thinking_off: v.optional(
    v.picklist(["refuse", "disabled", "none", "enable_thinking", "between_tools", "lowest"]),
  ),
  /** Messages: with thinking off, a higher effort is lowered to this. */
  thinking_off_effort_max: v.optional(v.picklist(EFFORT_LEVELS)),
  /** `on`: the model thinks unless the request says otherwise. */
  thinking_default: v.optional(v.picklist(["on", "off"])),
  /**
   * Chat: `none` switches reasoning off in calls with tools, for models that refuse the two together. `responses`: such
   * a call goes out as Responses if its upstream speaks that.
   */
  tools_effort: v.optional(v.picklist(["keep", "none", "responses"])),
  /**
   * A call that must use a tool. `thinking_off`: switches thinking off for it; `auto`: asks for the tool in words;
   * `refuse`: 400.
   */
  forced_tools: v.optional(v.picklist(["native", "thinking_off", "auto", "refuse"])),
  /** Chat: `system` if the model does not know the role `developer`. */
  developer_role: v.optional(v.picklist(["developer", "system"])),
  /** Chat: `one` joins all system messages before the conversation. */
  system_messages: v.optional(v.picklist(["many", "one"])),
  /** Chat: false if no user message may follow a tool message. Its text joins the result. */
  user_after_tool: v.optional(v.boolean()),
  /**
   * Chat: `moonshot` rewrites schemas of tools and formats for Kimi; `present` gives a tool without parameters an empty
   * schema.
   */
  schema: v.optional(v.picklist(["json-schema", "moonshot", "present"])),
  /** `bytes`: the provider fetches no images, so the gateway fetches those that are given by address. */
  images: v.optional(v.picklist(["addresses", "bytes"])),
  /** Images: `json` if the provider takes no form: an edit goes out as JSON, with `image: { url }` or `images`, as at xAI. */
  image_edits: v.optional(v.picklist(["form", "json"])),
  /** Chat: `omit` if the model reads no files: those of earlier turns become a line of text. */
  documents: v.optional(v.picklist(["read", "omit"])),
  /** Chat: the reply formats that the model takes. */
  formats: v.optional(v.picklist(["json_schema", "json_object"])),
  /**
   * Images and Messages: fields that the model refuses. They are left out, and a header names them. Images: a call that
   * asks for `response_format: url` gets 400 then. Messages: `output_config.format` is a field inside, `tools.strict` one
   * of every tool; a schema of a reply becomes words.
   */
  refused_fields: v.optional(v.array(v.string())),
  /**
   * Messages: betas by their names without dates. A text is the provider's own name for it. null: the provider refuses it,
   * so the model's calls go without it and without what it allows, and a header names it.
   */
  betas: v.optional(v.record(v.string(), v.nullable(v.string()))),
  /** Chat: the only top-level fields that the server takes. */
  fields: v.optional(v.array(v.string())),
  /** Chat: sends `reasoning_split: true`, so that thinking is not part of the content. */
  reasoning_split: v.optional(v.boolean()),
  /** Messages: asks to drop thinking blocks that belong to another conversation, in translated calls. */
  thinking_binding: v.optional(v.boolean()),
  /** Chat: what earlier turns must carry. `none` leaves them only the fields that every server knows. */
  replay: v.optional(
    v.picklist(["none", "reasoning_content", "thought_signature", "reasoning_details"]),
  ),
  /** Chat: the reasoning of turns that have none. With `thought_signature`, it stands for a signature. */
  replay_fill: v.optional(v.string()),
  /**
   * True if the stream carries all reasoning as text. Otherwise the gateway cannot count the reasoning, so it waits
   * longer for the usage report once the client has closed the connection.
   */
  streams_reasoning: v.optional(v.boolean()),
  /** Chat and Messages: what to do with a system message in mid-conversation. Only Chat has `user`. */
  mid_system: v.optional(v.picklist(["inline", "hoist", "user"])),
  /**
   * Chat: `keep` sends cache marks, for Claude behind a Chat server. Messages: `drop` adds none to conversations of
   * clients of other protocols.
   */
  cache_control: v.optional(v.picklist(["drop", "keep"])),
  /** Chat: the longest tool name, in characters. At least 16, to leave room for 12 digits of a hash. */
  tool_name_max: v.optional(v.pipe(v.number(), v.integer(), v.minValue(16))),
  /** Chat: the longest tool call id, in characters; null = unlimited. The dialect sets the default. */
  tool_id_max: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(37)))),
  /**
   * Messages: the output limit if the client sends none. Best set to the model's maximum. Chat and Responses: the same, if
   * the provider's own is lower than the model's maximum or higher; without it, such a call has the provider's own.
   */
  default_max_tokens: v.optional(count),
  /** Messages: the maximum output tokens of the model; null = unknown. */
  max_output_tokens: v.optional(limit),
  /** Messages: how to ask the model to think. */
  thinking: v.optional(v.picklist(["adaptive", "budget", "none"])),
  /** Messages: the model continues a trailing assistant turn. */
  prefill: v.optional(v.boolean()),
  /** Chat and Responses: `beside` if the server reports cached tokens beside the input, as Azure does for Grok. */
  cached_tokens: v.optional(v.picklist(["inside", "beside"])),
  /** Input that the provider counts beside the text of a request. */
  overhead_tokens: v.optional(overheadTokens),
});

export type Profile = v.InferOutput<typeof profile>;

const NO_PROFILE: Profile = Object.freeze({});
/** By the upstream's profile, then the route's. A call asks several times, and a config lives for days. */
const merged = new WeakMap<Profile, WeakMap<Profile, Profile>>();

/** Returns the profile of a route, which is shared. Keys of the route override those of its upstream. */
export function mergeProfiles(
  upstream: Profile = NO_PROFILE,
  route: Profile = NO_PROFILE,
): Readonly<Profile> {
  if (route === NO_PROFILE) return upstream;
  const ofUpstream = merged.get(upstream) ?? new WeakMap<Profile, Profile>();
  const known = ofUpstream.get(route);
  if (known) return known;
  const profile = Object.freeze({ ...upstream, ...route });
  merged.set(upstream, ofUpstream.set(route, profile));
  return profile;
}

/** Returns the name of the output limit at a Chat Completions upstream. */
export function maxTokensField({
  max_tokens_field: field,
  dialect,
}: Profile): NonNullable<Profile["max_tokens_field"]> {
  return field ?? (dialect === "compatible" ? "max_tokens" : "max_completion_tokens");
}
