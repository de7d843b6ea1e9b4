/** The second that was written last, up to its point: many calls begin in each. */
let second = Number.NaN;
let secondText = "";

/** A time as Postgres reads it; what is no time of these centuries stays a number, for the ledger to refuse. */
export function timeText(at: number): string {
  const since = Math.floor(at / 1_000);
  if (since !== second) {
    if (!(at >= 0 && at < Date.UTC(2200, 0))) return String(at);
    second = since;
    secondText = new Date(since * 1_000).toISOString().slice(0, -"000Z".length);
  }
  return `"${secondText}${String(Math.floor(at - since * 1_000)).padStart(3, "0")}Z"`;
}
