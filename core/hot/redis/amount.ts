import { MICRO_VND_MAX, type MicroVnd } from "../../money.ts";

/** Throws for what no script could count exactly: it would be wrong by a µđ, and nobody would notice. */
export function requireMicroVnd(amount: MicroVnd): void {
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new RangeError(`not an amount of µđ between 0 and ${MICRO_VND_MAX}: ${amount}`);
  }
}
