import { type Model, mergeProfiles, type Services } from "../../core/plugin/index.ts";
import { type ImageTokens, Overheads } from "./families.ts";
import { imageTokens } from "./media.ts";
import type { CountedInput } from "./tokenize.ts";

/**
 * Tokens that a provider counts in addition to text, as it publishes them. `families.ts` has upper bounds of the same.
 */
interface Published {
  /** Tokens of the prompt for tools, and of the prompt for a call that must use one. */
  readonly tools: number;
  readonly forcedTools: number;
  readonly schema: number;
  readonly page: number;
  readonly pageText: number;
  readonly image: ImageTokens;
  /** False if thinking before the last message of the user is not part of the input. */
  readonly keepsThinking: boolean;
}

interface Claude extends Pick<Published, "tools" | "forcedTools" | "image" | "keepsThinking"> {
  readonly name: RegExp;
}

/** platform.claude.com, vision: a token for 28 x 28 pixels; large images are scaled down. */
const IMAGE: ImageTokens = { base: 0, side: 28, tile_milli: 1_000, most: 1_568 };
const LARGE_IMAGE: ImageTokens = { ...IMAGE, most: 4_784 };
const LARGE = { image: LARGE_IMAGE, keepsThinking: true };

/**
 * platform.claude.com, tool use, pricing: `auto` and `none`, `any` and `tool`. Extended thinking:
 * which models keep it. Models that are not listed there yet have the numbers of their forerunner.
 */
const CLAUDE: readonly Claude[] = [
  { name: /claude-opus-4-7/, tools: 675, forcedTools: 804, ...LARGE },
  { name: /claude-opus-4-8/, tools: 290, forcedTools: 410, ...LARGE },
  { name: /claude-sonnet-[5-9]/, tools: 354, forcedTools: 474, ...LARGE },
  { name: /claude-[a-z]+-[5-9]/, tools: 286, forcedTools: 406, ...LARGE },
  { name: /claude-[a-z]+-4-6/, tools: 497, forcedTools: 589, image: IMAGE, keepsThinking: true },
  { name: /claude-opus-4-5/, tools: 496, forcedTools: 588, image: IMAGE, keepsThinking: true },
  { name: /claude-[a-z]+-4-5/, tools: 496, forcedTools: 588, image: IMAGE, keepsThinking: false },
  { name: /claude/, tools: 313, forcedTools: 315, image: IMAGE, keepsThinking: false },
];

/**
 * platform.claude.com, PDF support: 1,500 to 3,000 tokens a page. Each page is an image of about this many tokens, plus
 * its text.
 */
const PAGE = 1_560;
const PAGE_TEXT_MAX = 700;
/** Bytes of a PDF in base64 for each token of its text: fonts and pictures take most of the file. */
const PDF_BYTES_PER_TOKEN = 8;
/** Bytes in base64 for each token of a document whose number of pages is unknown. */
const DOCUMENT_BYTES_PER_TOKEN = 40;
/** Tokens of an image of unknown size. */
const IMAGE_TOKENS = 1_200;
/** The usual share of the largest recorded prompt for tools, for models of other makers. */
const USUAL_SHARE = 0.5;

/** Adds to counted text the tokens that the provider of a model counts in addition. */
export class PublishedCounts {
  private readonly overheads: Overheads;

  constructor(private readonly upstreams: Services["upstreams"]) {
    this.overheads = new Overheads({ upstreams });
  }

  /** Returns the input tokens of a request to a model. */
  inputTokens(input: CountedInput, model: Model): number {
    const published = this.of(model);
    const { tools, forcedTools, schema, page, pageText } = published;
    return Math.ceil(
      input.textTokens +
        (published.keepsThinking ? input.earlierThinkingTokens : 0) +
        (input.hasTools ? (input.isForced ? forcedTools : tools) : 0) +
        (input.hasSchema ? schema : 0) +
        input.images.reduce((sum, size) => {
          const { image } = published;
          return sum + (size ? imageTokens(size, image) : Math.min(IMAGE_TOKENS, image.most));
        }, 0) +
        input.pages * page +
        Math.min(input.pages * pageText, input.pdfBytes / PDF_BYTES_PER_TOKEN) +
        input.documentBytes / DOCUMENT_BYTES_PER_TOKEN,
    );
  }

  private of(model: Model): Published {
    const overhead = this.overheads.of(model);
    const [route] = model.routes;
    const upstream = route && this.upstreams.get(route.upstream)?.config.profile;
    const stated = mergeProfiles(upstream, route?.profile).overhead_tokens ?? {};
    const name = route?.model.toLowerCase() ?? "";
    const claude = CLAUDE.find((row) => row.name.test(name));
    const tools = stated.tools ?? claude?.tools ?? overhead.tools * USUAL_SHARE;
    return {
      tools,
      forcedTools: stated.tools ?? claude?.forcedTools ?? tools,
      schema: overhead.schema * USUAL_SHARE,
      page: stated.page ?? Math.min(overhead.page, PAGE),
      pageText: Math.min(overhead.page_text, PAGE_TEXT_MAX),
      image: stated.image ?? claude?.image ?? overhead.image,
      keepsThinking: claude?.keepsThinking ?? true,
    };
  }
}
