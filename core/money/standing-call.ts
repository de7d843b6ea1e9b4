import type { MicroVnd } from "../catalogue/amount.ts";

/** A hold, or a posted call that is not in the ledger yet: it must end, so its age matters. */
export interface StandingCall {
  readonly kind: "hold" | "post";
  /** A call, or the id under which a movement holds money. */
  readonly callId: string;
  /** The reference of the movement that holds the money; null for a call. */
  readonly reference: string | null;
  /** The account; empty if the entry of a post cannot be read. */
  readonly accountId: string;
  /** The amount held or charged. */
  readonly microVnd: MicroVnd;
  /** When the money was held, or the call posted, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
  /** The gateway process that has it; empty for a movement that no process has. */
  readonly process: string;
}
