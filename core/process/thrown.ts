/** Returns a thrown value as an Error: JavaScript can throw any value. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the words of a thrown value. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // Node says nothing else if all addresses of a name fail.
  if (thrown instanceof AggregateError && thrown.message === "")
    return [...new Set(thrown.errors.map(messageOf))].join(", ");
  return thrown.message;
}

/** Returns the code of a thrown value, such as ENOENT; undefined if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}
