/** Returns true if tables have room for all their columns, as on no phone. The style sheet has the same bound. */
export function isWide(): boolean {
  return matchMedia("(min-width: 52rem)").matches;
}
