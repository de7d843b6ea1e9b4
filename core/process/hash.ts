const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Returns the FNV-1a hash of a text, 32 bits with a sign: even, and the same in every process and version. Never change it:
 * it decides in which bucket of a cluster an account's keys are. `seed`: another hash to go on from.
 */
export function hashOf(text: string, seed: number = OFFSET): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}
