/** Returns true if a pattern, in which `*` stands for any characters, is that of a model. Takes linear time. */
export function matchesModel(pattern: string, modelId: string): boolean {
  const [start = "", ...parts] = pattern.split("*");
  const end = parts.pop();
  if (end === undefined) return pattern === modelId;
  if (!modelId.startsWith(start) || !modelId.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = modelId.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= modelId.length - end.length;
}
