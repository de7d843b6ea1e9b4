import type { JsonObject } from "../../process/json.ts";
import { FIELDS } from "./table.ts";

/** The form of all fields that are known. */
const PLAIN = /^[a-z0-9_]*$/;
/** Longer names are no spelling of a known one. */
const NAME_CHARS_MAX = 64;
/** Maximum names of another form: clients send a few. */
const ODD_NAMES_MAX = 64;

/** Known names by the form that all their spellings share. */
type Spellings = ReadonlyMap<string, string>;

function spellingsOf(names: readonly string[]): Spellings {
  return new Map(names.map((name) => [folded(name), name]));
}

/** Fields that decide what a call costs, or what it reads and keeps at a provider. */
const PRICED = spellingsOf([
  ...FIELDS.map(({ field }) => field),
  ...["model", "messages", "input", "system", "instructions", "prompt", "image", "mask"],
  ...["n", "size", "quality", "input_fidelity", "resolution", "partial_images"],
  ...["max_tokens", "max_completion_tokens"],
  ...["max_output_tokens", "stream", "stream_options", "tools", "tool_choice", "functions"],
]);
const OF_TOOLS = spellingsOf([
  ...["type", "name", "function", "custom", "tools", "execution", "environment", "container"],
]);

/**
 * Returns the name of a field that is sent in another spelling, or in two. Parsers of Go and .NET read `Model` as `model`,
 * those of Google `serviceTier` as `service_tier`, and the last one counts: what was priced would not be what is served.
 * `options`: more names that decide the price.
 */
export function misspelledIn(
  body: JsonObject,
  options: readonly string[] = [],
): string | undefined {
  const found = misspelled(body, PRICED);
  if (found !== undefined || options.length === 0) return found;
  return misspelled(body, spellingsOf(options));
}

export function misspelledInTool(tool: JsonObject): string | undefined {
  return misspelled(tool, OF_TOOLS);
}

function misspelled(object: JsonObject, spellings: Spellings): string | undefined {
  let odd: Set<string> | undefined;
  for (const name in object) {
    if (PLAIN.test(name) || name.length > NAME_CHARS_MAX) continue;
    const form = folded(name);
    const known = spellings.get(form);
    if (known !== undefined) return known;
    odd ??= new Set();
    const plain = [name.toLowerCase(), name.replaceAll(/[A-Z]/g, "_$&").toLowerCase()];
    const isOther = (other: string) => other !== name && Object.hasOwn(object, other);
    const isTwice = odd.has(form) || plain.some(isOther);
    if (isTwice || odd.size === ODD_NAMES_MAX) return name;
    odd.add(form);
  }
  return undefined;
}

/** Both cases, because the long s and the Kelvin sign have no partner in one of them. */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll(/[_-]/g, "");
}
