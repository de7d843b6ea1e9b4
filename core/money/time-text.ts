/** Cache of the last second's text: many calls begin in the same second. */
let second = Number.NaN;
let secondText = "";

/**
 * Returns a time as quoted ISO text for Postgres. A time outside 1970 to 2200 stays a number, which the ledger refuses.
 */
export function timeText(at: number): string {
  const since = Math.floor(at / 1_000);
  if (since !== second) {
    if (!(at >= 0 && at < Date.UTC(2200, 0))) return String(at);
    second = since;
    secondText = new Date(since * 1_000).toISOString().slice(0, -"000Z".length);
  }
  return `"${secondText}${String(Math.floor(at - since * 1_000)).padStart(3, "0")}Z"`;
}
