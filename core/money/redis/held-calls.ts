import { listOf, textOf } from "../../redis/reply.ts";
import type { MovementHold } from "../movement-hold.ts";

/** The holds of a bucket that an audit checks. */
export interface HeldCalls {
  /** The calls and movements that have a hold of this process. */
  readonly own: readonly string[];
  /** Holds of movements that no process has: the process that had them died, or gave them up. */
  readonly unowned: readonly MovementHold[];
}

/** Parses the reply of `held-calls.lua`. */
export function readHeldCalls(reply: unknown): HeldCalls {
  const [own, unowned] = listOf(reply);
  return {
    own: listOf(own).map(textOf),
    unowned: listOf(unowned).map((item) => {
      const [callId, amount, accountId] = listOf(item);
      return {
        callId: textOf(callId),
        accountId: textOf(accountId),
        amountMicroVnd: Number(textOf(amount)),
      };
    }),
  };
}
