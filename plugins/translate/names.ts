import { sha256Hex } from "./ids.ts";

const MESSAGES_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const STEM_CHARS = 51;
const HASH_CHARS = 12;

/**
 * Tool names of one request that had to change for the upstream, so that its answer can name them as the
 * client does.
 */
export class ToolNames {
  private readonly originals = new Map<string, string>();

  /** A name for a Chat upstream, which takes shorter ones than a Messages client may use. */
  forChat(name: string, charsMax: number): string {
    if (name.length <= charsMax) return name;
    const stem = name.slice(0, Math.min(STEM_CHARS, charsMax - HASH_CHARS - 1));
    return this.remember(name, stem);
  }

  /** A name for a Messages upstream, which knows no dots or spaces as many tool bridges use them. */
  forMessages(name: string): string {
    if (MESSAGES_NAME.test(name)) return name;
    // The stem is cut by characters before it is cleaned, so one odd character becomes one underscore.
    const stem = Array.from(name.slice(0, STEM_CHARS * 2), (char) =>
      /[a-zA-Z0-9_-]/.test(char) ? char : "_",
    );
    return this.remember(name, stem.slice(0, STEM_CHARS).join(""));
  }

  /** The client's own name for a tool the upstream calls. */
  original(name: string): string {
    return this.originals.get(name) ?? name;
  }

  /** The hash keeps names apart that shorten to the same stem. */
  private remember(name: string, stem: string): string {
    const changed = `${stem}_${sha256Hex(name).slice(0, HASH_CHARS)}`;
    this.originals.set(changed, name);
    return changed;
  }
}
