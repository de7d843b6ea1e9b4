import { type Model, mergeProfiles, type Profile, type Services } from "../../core/plugin/index.ts";

/** How a provider counts an image: a base, and a number for each tile that it covers in part. */
export type ImageTokens = NonNullable<NonNullable<Profile["overhead_tokens"]>["image"]>;

/** Tokens that a provider counts in addition to the text of a request, with every key set. */
export interface Overhead {
  readonly text_percent: number;
  readonly request: number;
  readonly tools: number;
  readonly built_in_tool: number;
  readonly schema: number;
  readonly page: number;
  readonly page_text: number;
  readonly image: ImageTokens;
  readonly audio_second: number;
}

interface Family {
  /** Part of the model's name at its provider. */
  readonly name: RegExp;
  readonly overhead: Partial<Overhead>;
}

/**
 * The overhead of models of no known family: as much as most families that have been measured.
 *
 * "Recorded" here and below is the largest difference between 1,121 recorded requests and what their providers
 * reported. "Template" is what the chat template of the model adds, in tokens of o200k: ggml-org/llama.cpp,
 * models/templates. The rest of each number is a margin for tokens that a provider adds. A family without either has no
 * recorded difference, and its numbers are margins.
 */
const UNKNOWN: Overhead = {
  text_percent: 100,
  // Recorded: 70 (Azure's Grok, DeepSeek on Responses). Only xAI adds more.
  request: 100,
  // Recorded: 632 (Llama 4), 570 (Claude).
  tools: 640,
  // platform.claude.com, computer use: 735 tokens and a system prompt of up to 499; others have less.
  built_in_tool: 1_250,
  // Recorded: 92 (Claude), 60 (gpt-oss).
  schema: 110,
  // huggingface.co, pdf-token-cost: a scanned page is 1,600 tokens on Claude, 560 on Gemini.
  page: 1_700,
  // platform.claude.com, PDF support: 1,500 to 3,000 tokens a page.
  page_text: 3_000,
  // The largest of most families, in the tiles of Claude.
  image: { base: 30, side: 28, tile_milli: 1_000, most: 5_000 },
  // ai.google.dev, tokens: 32 a second. Qwen-Omni 25, Voxtral 12.5, OpenAI 10.
  audio_second: 32,
};

const CLAUDE: Partial<Overhead> = {
  // platform.claude.com, token counting: 14 tokens for an example of 8 tokens of text.
  request: 30,
  // platform.claude.com, tool use: a system prompt of up to 589 tokens. Recorded: 570.
  tools: 620,
  // platform.claude.com, vision: 28 x 28 pixels a token, at most 4,784 (2,576 pixels a side).
  image: { base: 30, side: 28, tile_milli: 1_000, most: 4_800 },
};

/** The first row whose name fits counts. */
const FAMILIES: readonly Family[] = [
  {
    // The same page: 804 tokens for a call that must use a tool.
    name: /claude-opus-4-7/,
    overhead: { ...CLAUDE, text_percent: 115, tools: 840 },
  },
  {
    // platform.claude.com, token counting: these count 30 % more for the same text.
    name: /claude-(opus-4-[789]|(fable|mythos|opus|sonnet|haiku)-[5-9])/,
    overhead: { ...CLAUDE, text_percent: 115 },
  },
  { name: /claude/, overhead: CLAUDE },
  {
    // Listed before `gpt`. Recorded: 60 for each request, 13 for tools.
    name: /gpt-oss/,
    overhead: { request: 70, tools: 60 },
  },
  {
    // developers.openai.com, counting tokens: 3 for a request and 3 or 4 for a message; tools some 12 and 7 each.
    // The same, images and vision: 2,833 + 5,667 for each tile of 512 pixels, at most 8.
    name: /gpt-4o-mini/,
    overhead: {
      request: 15,
      tools: 60,
      image: { base: 2_833, side: 512, tile_milli: 5_667_000, most: 48_169 },
    },
  },
  {
    // The same page: patches of 32 pixels, at most 1,536, times 1.62 (mini), 1.72 (o4-mini), 2.46 (nano).
    name: /gpt-4\.1-(mini|nano)|o4-mini|gpt-5-(mini|nano)/,
    overhead: {
      request: 40,
      tools: 60,
      image: { base: 10, side: 32, tile_milli: 2_460, most: 3_790 },
    },
  },
  {
    // The same page: 85 + 170 for each tile of 512 pixels (o1, o3: 75 + 150; gpt-5: 70 + 140).
    name: /gpt-4o|gpt-4\.1|gpt-4\.5|o1|o3|gpt-5(?![.\d])/,
    overhead: {
      request: 40,
      // Recorded: 167, of which 150 are a system prompt of `strict` tools on Responses.
      tools: 160,
      image: { base: 85, side: 512, tile_milli: 170_000, most: 1_445 },
    },
  },
  {
    // Measured: 1.2 for each patch of 32 pixels, at most 10,000 patches (huggingface.co, image-token-cost).
    name: /gpt/,
    overhead: {
      request: 40,
      tools: 160,
      image: { base: 10, side: 32, tile_milli: 1_200, most: 12_000 },
    },
  },
  {
    // ai.google.dev, media resolution: an image 258 tokens a tile (2.x), or 1,120 at most (3.x, 560 a page).
    name: /gemini-(1|2)/,
    overhead: {
      request: 20,
      tools: 80,
      page: 270,
      page_text: 0,
      image: { base: 258, side: 768, tile_milli: 258_000, most: 5_000 },
    },
  },
  {
    name: /gemini/,
    overhead: {
      request: 20,
      tools: 80,
      page: 580,
      page_text: 0,
      image: { base: 1_120, side: 768, tile_milli: 0, most: 1_120 },
    },
  },
  {
    // docs.x.ai, image understanding: 256 a tile of 448 pixels, at most 6 and one more. Recorded: 179 a request,
    // with and without tools; at Azure 100 with tools.
    name: /grok/,
    overhead: {
      request: 200,
      tools: 60,
      image: { base: 256, side: 448, tile_milli: 256_000, most: 1_792 },
    },
  },
  {
    // Recorded: 70 for each request, 263 with tools. Template of V3.2: 267 for tools.
    name: /deepseek/,
    overhead: { request: 80, tools: 200 },
  },
  {
    // Recorded: 632 with tools. Image: 336 pixels a tile, in patches of 14, four to a token; at most 16 tiles and one
    // of the whole (huggingface.co, Llama4ImageProcessor).
    name: /llama-?4/,
    overhead: {
      request: 30,
      tools: 620,
      image: { base: 150, side: 336, tile_milli: 144_000, most: 2_600 },
    },
  },
  // Template of 3.1: 26 for the dates in each request, 56 for tools.
  { name: /llama/, overhead: { request: 40, tools: 200 } },
  {
    // Recorded: 187 with tools. Template: 86. help.aliyun.com, vision: 28 or 32 pixels a token, at most 16,384 if asked for.
    name: /qwen/,
    overhead: {
      request: 40,
      tools: 200,
      image: { base: 10, side: 28, tile_milli: 1_000, most: 16_400 },
    },
  },
  {
    // docs.nvidia.com, GLM-5 image processing: 28 pixels a token, at most 8,000. Recorded: 64 with tools. Template: 118.
    name: /glm/,
    overhead: {
      request: 30,
      tools: 150,
      image: { base: 10, side: 28, tile_milli: 1_000, most: 8_010 },
    },
  },
  {
    // Recorded: 1,540 for one image.
    name: /pixtral/,
    overhead: {
      request: 20,
      tools: 60,
      image: { base: 60, side: 16, tile_milli: 1_000, most: 4_200 },
    },
  },
  {
    // docs.mistral.ai, vision: 28 pixels a token and one a row, at most 1,540 pixels a side. Template of Small 3.1: a
    // system prompt of 161 if there is none, and 119 for tools. Mistral's own servers add less.
    name: /mistral|ministral|magistral|devstral|voxtral/,
    overhead: {
      request: 170,
      tools: 130,
      image: { base: 60, side: 28, tile_milli: 1_000, most: 3_100 },
    },
  },
  // Template of M2: a system prompt of 26 if there is none, and 113 for tools.
  { name: /minimax/, overhead: { request: 50, tools: 250 } },
  // Template of K3: 66 that state the effort, 34 for tools, 34 if one of them is required.
  { name: /kimi-k[3-9]/, overhead: { request: 80, tools: 250 } },
  // Template of K2: a system prompt of 17 if there is none, and 6 for tools.
  { name: /kimi/, overhead: { request: 40, tools: 250 } },
];

/** Returns the overhead of a model by its name at its provider. */
export function familyOverhead(name: string): Overhead {
  const lower = name.toLowerCase();
  const family = FAMILIES.find((row) => row.name.test(lower));
  return { ...UNKNOWN, ...family?.overhead };
}

/**
 * The overheads of models: the largest over their routes, since any of them may serve a call. Numbers that a profile
 * states override those of the model's family.
 */
export class Overheads {
  private known = new WeakMap<Model, Overhead>();
  /** Those that the known overheads are of. */
  private upstreams: Services["upstreams"] | undefined = undefined;

  constructor(private readonly services: Pick<Services, "upstreams">) {}

  of(model: Model): Overhead {
    const { upstreams } = this.services;
    // A reload makes other upstreams, and keeps the models of a catalogue that has not changed.
    if (this.upstreams !== upstreams) {
      this.upstreams = upstreams;
      this.known = new WeakMap();
    }
    const known = this.known.get(model);
    if (known) return known;
    const each = model.routes.map((route): Overhead => {
      const profile = upstreams.get(route.upstream)?.config.profile;
      const stated = mergeProfiles(profile, route.profile).overhead_tokens;
      return { ...familyOverhead(route.model), ...definedIn(stated ?? {}) };
    });
    const overhead = each.reduce(larger, each[0] ?? UNKNOWN);
    this.known.set(model, overhead);
    return overhead;
  }
}

function definedIn(stated: NonNullable<Profile["overhead_tokens"]>): Partial<Overhead> {
  return Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined));
}

function larger(a: Overhead, b: Overhead): Overhead {
  return {
    text_percent: Math.max(a.text_percent, b.text_percent),
    request: Math.max(a.request, b.request),
    tools: Math.max(a.tools, b.tools),
    built_in_tool: Math.max(a.built_in_tool, b.built_in_tool),
    schema: Math.max(a.schema, b.schema),
    page: Math.max(a.page, b.page),
    page_text: Math.max(a.page_text, b.page_text),
    image: a.image.most >= b.image.most ? a.image : b.image,
    audio_second: Math.max(a.audio_second, b.audio_second),
  };
}
