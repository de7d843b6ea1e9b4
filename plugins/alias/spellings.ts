import type { Settings } from "./options.ts";

const YEAR = "20\\d\\d";
const MONTH = "(?:0[1-9]|1[0-2])";
const DAY = "(?:0[1-9]|[12]\\d|3[01])";
/** The end of a dated snapshot's name: `-20251001`, `@20251001`, `-2025-10-01`, `-1001`, each with `-v1:0` or without. */
const DATE = new RegExp(
  `[-@](?:${YEAR}${MONTH}${DAY}|${YEAR}-${MONTH}-${DAY}|${MONTH}${DAY})(?:-v\\d+(?::\\d+)?)?$`,
);
/** A provider, as `anthropic/`, or a region and a provider, as `us.anthropic.`. */
const PREFIX = /^(?:[\w.-]+\/|(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z]))/i;
/** These prefixes belong to ids of the catalogue. */
const OWN_PREFIX = /^(?:req|svc)\//i;

/**
 * Yields what the id of a model may be in the catalogue, if a caller sends its dated snapshot, another case, or a
 * provider in front: the likeliest first, in lower case. Yields nothing if the settings allow none of it.
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
    yield rest;
    if (isDated && DATE.test(rest)) yield rest.replace(DATE, "");
    if (!mayStrip || OWN_PREFIX.test(rest) || !PREFIX.test(rest)) return;
    rest = rest.replace(PREFIX, "");
  }
}
