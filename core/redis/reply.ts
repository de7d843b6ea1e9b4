/** Read replies of scripts and commands; each throws if the reply has another type. */

export function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new Error("redis returned something that is not a list");
  return reply;
}

export function textOf(reply: unknown): string {
  if (typeof reply !== "string") throw new Error("redis returned something that is not a string");
  return reply;
}

export function numberOf(reply: unknown): number {
  if (typeof reply !== "number") throw new Error("redis returned something that is not a number");
  return reply;
}

/** Returns a flat list of names and values, as `HGETALL` gives it inside a script, as a map. */
export function mapOf(reply: unknown): Map<string, string> {
  const flat = listOf(reply).map(textOf);
  const map = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) map.set(flat[at] ?? "", flat[at + 1] ?? "");
  return map;
}
