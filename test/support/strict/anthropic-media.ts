import type { JsonObject } from "../../../core/process/json.ts";
import { blocksOf } from "./message-turns.ts";
import { type Facts, objects, type Rule, text } from "./rule.ts";

const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp)$/;
const IMAGE_BYTES_MAX = 5 << 20;

/** The base64 sources of one type of block, those inside of tool results included. */
function sources({ turns }: Facts, type: string): JsonObject[] {
  return turns
    .flatMap(blocksOf)
    .flatMap((block) => [block, ...objects(block["content"])])
    .filter((block) => block["type"] === type)
    .flatMap((block) => objects([block["source"]]))
    .filter((source) => source["type"] === "base64");
}

/** Width and height of a PNG. Other formats are not read. */
function pixels(data: string): readonly [number, number] {
  const head = Buffer.from(data.slice(0, 32), "base64");
  const isPng = head.length >= 24 && head.toString("latin1", 1, 4) === "PNG";
  return isPng ? [head.readUInt32BE(16), head.readUInt32BE(20)] : [0, 0];
}

/** The type of an image by its first bytes. */
function typeOf(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 24), "base64").toString("latin1");
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return /^RIFF.{4}WEBP/s.test(head) ? "image/webp" : undefined;
}

function pages(data: string): number {
  const text = Buffer.from(data, "base64").toString("latin1");
  return text.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
}

export const anthropicMedia: readonly Rule[] = [
  {
    id: "a-image-type",
    source: "Claude docs: vision",
    refuses: (facts) =>
      sources(facts, "image").some((source) => !IMAGE_TYPES.test(text(source["media_type"]))) &&
      "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  },
  {
    id: "a-image-bytes",
    source: "router-for-me/CLIProxyAPI#3362; anthropics/claude-code#35234",
    refuses: (facts) => {
      const wrong = sources(facts, "image").find(({ media_type, data }) => {
        const own = typeOf(text(data));
        return own !== undefined && own !== media_type;
      });
      return (
        wrong &&
        `messages.0.content.0.image.source.base64: The image was specified using the ${text(wrong["media_type"])} media type, but the image appears to be a ${typeOf(text(wrong["data"]))} image`
      );
    },
  },
  {
    id: "a-image-5mb",
    source: "Claude docs: vision",
    refuses: (facts) =>
      sources(facts, "image").some(({ data }) => text(data).length * 0.75 > IMAGE_BYTES_MAX) &&
      "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum",
  },
  {
    id: "a-image-pixels",
    source: "Claude docs: vision",
    refuses: (facts) => {
      const images = sources(facts, "image");
      const most = images.length > 20 ? 2_000 : 8_000;
      return (
        images.some(({ data }) => Math.max(...pixels(text(data))) > most) &&
        `messages.0.content.0.image.source.base64.data: image dimensions exceed max allowed size: ${most} pixels`
      );
    },
  },
  {
    id: "a-pdf-pages",
    source: "Claude docs: PDF support",
    refuses: (facts) => {
      const most = /-4-5/.test(facts.model) ? 100 : 600;
      return (
        sources(facts, "document").some(({ data }) => pages(text(data)) > most) &&
        `messages.0.content.0.pdf.source.base64.data: A maximum of ${most} PDF pages may be provided.`
      );
    },
  },
];
