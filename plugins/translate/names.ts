import { sha256Hex } from "./ids.ts";

const MESSAGES_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const STEM_CHARS = 51;
const HASH_CHARS = 12;

/** The client's names of tools, by the names that the upstream knows. Plain data: threads pass it on. */
export type OriginalNames = ReadonlyMap<string, string>;

/** Returns the client's own name for a tool that the upstream calls. */
export function originalName(names: OriginalNames, name: string): string {
  return names.get(name) ?? name;
}

/** Maps the tool names of one request to names that the upstream accepts. */
export class ToolNames {
  private readonly changed = new Map<string, string>();

  /** The names that the request has so far, for its reply. */
  get originals(): OriginalNames {
    return this.changed;
  }

  /**
   * Returns a name for a Chat upstream, which may accept fewer characters than Messages, and a letter only at the start:
   * MoonshotAI/kimi-cli#1773.
   */
  forChat(name: string, charsMax: number): string {
    const isNamed = /^[a-zA-Z]/.test(name);
    if (isNamed && name.length <= charsMax) return name;
    const stem = isNamed ? name : `tool_${name}`;
    return this.remember(name, stem.slice(0, Math.min(STEM_CHARS, charsMax - HASH_CHARS - 1)));
  }

  /**
   * Returns a name for a Messages upstream, which refuses dots and spaces, as many tool bridges use
   * them.
   */
  forMessages(name: string): string {
    if (MESSAGES_NAME.test(name)) return name;
    // Array.from splits by code points, so a character outside of the BMP becomes one underscore.
    const stem = Array.from(name.slice(0, STEM_CHARS * 2), (char) =>
      /[a-zA-Z0-9_-]/.test(char) ? char : "_",
    );
    return this.remember(name, stem.slice(0, STEM_CHARS).join(""));
  }

  /** Appends a hash, so that names with the same stem stay different. */
  private remember(name: string, stem: string): string {
    const changed = `${stem}_${sha256Hex(name).slice(0, HASH_CHARS)}`;
    this.changed.set(changed, name);
    return changed;
  }
}
