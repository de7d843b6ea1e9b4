import * as v from "valibot";
import { described, mapping, whole } from "../process/options.ts";

const tokens = (what: string) =>
  v.optional(described(whole(0, 1_000_000), `Input tokens that the provider adds ${what}.`));

/**
 * Input that a provider counts and that the text of a request does not show, in tokens. A profile
 * states what differs from the model's family; `plugins/meter/families.ts` has the families.
 */
export const overheadTokens = mapping({
  text_percent: v.optional(
    described(
      whole(50, 500),
      "Tokens of a text, in percent of those that other tokenizers need for it.",
    ),
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

/** The overhead that a part of the config states. */
export type OverheadTokens = v.InferOutput<typeof overheadTokens>;
