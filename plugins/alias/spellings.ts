import type { Settings } from "./options.ts";

const YEAR = "20\\d\\d";
const MONTH = "(?:0[1-9]|1[0-2])";
const DAY = "(?:0[1-9]|[12]\\d|3[01])";
const DATE = `[-@](?:${YEAR}${MONTH}${DAY}|${YEAR}-${MONTH}-${DAY}|${MONTH}${DAY})`;
/** Bedrock's: `-v1:0`, `-1:0` if no version stands before it, and `-v1` behind a number, since other names end in `-v4`. */
const RELEASE = "-v\\d+:\\d+|(?<=[a-z])-\\d+:\\d+|(?<=\\d)-v\\d+";
/** The end of a snapshot's name: `-20251001`, `@20251001`, `-2025-10-01`, `-1001`, a release, or both. */
const SNAPSHOT = new RegExp(`(?:${DATE}(?:${RELEASE})?|${RELEASE})$`);
/** A provider, as `anthropic/`, or a region and a provider, as `us.anthropic.`. */
const PREFIX = /^(?:[\w.-]+\/|(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z]))/i;
/** These prefixes belong to ids of the catalogue. */
const OWN_PREFIX = /^(?:req|svc)\//i;

/**
 * Yields what the id of a model may be in the catalogue, if a caller sends its dated snapshot, another case, a provider
 * in front, or its version with other signs: the likeliest first, in lower case. Yields nothing if the settings allow none
 * of it.
 */
export function* spellings(
  name: string,
  { dated_names, prefixes }: Pick<Settings, "dated_names" | "prefixes">,
): Generator<string> {
  const mayStrip = prefixes === "strip";
  const isDated = dated_names === "resolve";
  if (!mayStrip && !isDated) return;
  let rest = name.toLowerCase();
  for (;;) {
    yield* versions(rest);
    if (isDated && SNAPSHOT.test(rest)) yield* versions(rest.replace(SNAPSHOT, ""));
    if (!mayStrip || OWN_PREFIX.test(rest) || !PREFIX.test(rest)) return;
    rest = rest.replace(PREFIX, "");
  }
}

/** Anthropic writes `claude-haiku-4-5`, OpenRouter and Cloudflare `claude-haiku-4.5`. */
function* versions(name: string): Generator<string> {
  yield name;
  yield name.replace(/(?<=\d)\.(?=\d)/g, "-");
  yield name.replace(/(?<=\d)-(?=\d)/g, ".");
}
