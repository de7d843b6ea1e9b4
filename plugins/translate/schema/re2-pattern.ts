/**
 * Parts of patterns that RE2 or Rust's regex lack: look-around, groups by name or that do not give back, letters and digits
 * behind a backslash that mean nothing to them, empty classes, and a range that begins with a class.
 */
const NOT_LINEAR = /\(\?(?:[=!>]|<)|\\(?![aAbBdDfnpPrsStvwWxz])[A-Za-z0-9]|\[\^?\]/;
const NOT_LINEAR_IN_SET = /\\[wWdDsS]-[^\]]/;
/**
 * Parts that Python's `re` refuses too, or reads in another way: `\p`, `\z`, half of a `\x41`, in a set a class as the end of a
 * range or an anchor, an anchor that is repeated, `{,3}`.
 */
const NOT_PYTHON = /\\[pPz]|\\x(?![\dA-Fa-f]{2})|\\A(?:[*+?]|\{\d)|\{,\d*\}/;
const NOT_PYTHON_IN_SET = /-\\[dDsSwW]|\\[AB]/;
/** An escape, or a set to its end: so each character is read once. */
const TOKENS = /\\.|\[(?:\\.|[^\]\\])*\]?/gs;
/** Longer ones are left out, so that no pattern takes long to check. */
const CHARS_MAX = 5_000;
/** The most repetitions of an element. Source: RE2's syntax. */
const REPEATED_MAX = 1_000;

/**
 * Returns true if an engine in linear time surely compiles the pattern: RE2 or Rust's regex, whose syntax is nearly one.
 */
export function isRe2Pattern(pattern: string): boolean {
  if (pattern.length > CHARS_MAX) return false;
  const read = withoutBackslashes(pattern);
  if (NOT_LINEAR.test(read) || hasInSet(read, NOT_LINEAR_IN_SET)) return false;
  for (const [, low, high] of read.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    if (Math.max(Number(low), Number(high ?? 0)) > REPEATED_MAX) return false;
  }
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

/** Returns true if Python's `re.compile` surely takes the pattern, and an engine in linear time. */
export function isPythonPattern(pattern: string): boolean {
  if (!isRe2Pattern(pattern)) return false;
  const read = withoutBackslashes(pattern);
  return !NOT_PYTHON.test(read) && !hasInSet(read, NOT_PYTHON_IN_SET);
}

/** Writes a slash for each backslash that is meant, so that a backslash is an escape. */
function withoutBackslashes(pattern: string): string {
  return pattern.replaceAll("\\\\", "\\/");
}

function hasInSet(read: string, part: RegExp): boolean {
  const tokens = read.match(TOKENS) ?? [];
  return tokens.some((token) => token.startsWith("[") && part.test(token));
}
