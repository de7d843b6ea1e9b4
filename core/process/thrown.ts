/** Returns a thrown value as an Error: JavaScript can throw any value. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
