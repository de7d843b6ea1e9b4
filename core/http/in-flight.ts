import type { Limits } from "../plugin/config.ts";
import type { CallsInFlight } from "../plugin/services.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { HttpCall } from "./http-call.ts";

/** The part of the places that one account may take, as a divisor, so that it leaves some to others. */
const SHARE_OF_ACCOUNT = 2;
/** Maximum refused calls that wait for the end of their bodies. */
const LINGERING_MAX = 1_000;

interface AccountCalls {
  calls: number;
  /** Of these, the calls whose client has left while their upstream goes on. */
  left: number;
}

/**
 * The calls of this process that have not ended: an array, in which the last call moves to the index of one that ends.
 *
 * Not a Set: a Set that grows leaves old tables in memory, which still point at calls. The garbage collector then
 * copies every call of the past second, 4 KB each, before it can free it.
 */
export class HttpCallsInFlight implements CallsInFlight {
  private readonly calls: HttpCall[] = [];
  private readonly byAccount = new Map<string, AccountCalls>();
  private placed = 0;
  private lingering = 0;
  /** Calls whose client has left while their upstream goes on. */
  left = 0;

  /** True if no more refused calls may wait for the end of their bodies. */
  get isLingeringFull(): boolean {
    return this.lingering >= LINGERING_MAX;
  }

  /**
   * Returns the refusal of a new call if `max` calls have places. Those that wait for their admission have none, or
   * strangers could take all; as many more may wait.
   */
  refusal(max: number): Refusal | undefined {
    const waiting = this.calls.length - this.placed - this.lingering;
    return this.placed >= max || waiting >= max ? FULL : undefined;
  }

  /**
   * Gives a call that is admitted one of `callsMax` places, until it ends. Returns the refusal if there is none for it.
   * A request that serves no model needs none.
   */
  takePlace(
    call: HttpCall,
    { callsMax, leftCallsMax }: Pick<Limits, "callsMax" | "leftCallsMax">,
  ): Refusal | undefined {
    if (call.endpoint.serves.length === 0) return undefined;
    if (this.placed >= callsMax) return FULL;
    const accountId = call.key?.accountId;
    if (accountId !== undefined) {
      const own = this.byAccount.get(accountId) ?? { calls: 0, left: 0 };
      if (own.calls >= Math.max(1, callsMax / SHARE_OF_ACCOUNT)) return FULL_OF_ACCOUNT;
      if (own.left >= leftCallsMax) return fullOfLeft(own.left);
      own.calls++;
      this.byAccount.set(accountId, own);
    }
    call.placeOf = accountId ?? "";
    this.placed++;
    return undefined;
  }

  /** Marks a refused call as one that waits for the end of its body: it gives up its place. */
  linger(call: HttpCall): void {
    if (!this.has(call) || call.lingers) return;
    this.giveUpPlace(call);
    call.lingers = true;
    this.lingering++;
  }

  /** Marks a call whose client has left while its upstream goes on. */
  leave(call: HttpCall): void {
    const { placeOf } = call;
    if (placeOf === undefined || call.left) return;
    call.left = true;
    this.left++;
    const own = this.byAccount.get(placeOf);
    if (own) own.left++;
  }

  get size(): number {
    return this.calls.length;
  }

  accountOf(callId: string): string | undefined {
    return this.calls.find(({ id }) => id === callId)?.key?.accountId;
  }

  has(call: HttpCall): boolean {
    return this.calls[call.inFlightAt] === call;
  }

  add(call: HttpCall): void {
    call.inFlightAt = this.calls.length;
    this.calls.push(call);
  }

  delete(call: HttpCall): void {
    if (!this.has(call)) return;
    this.giveUpPlace(call);
    if (call.lingers) this.lingering--;
    const last = this.calls.pop();
    if (last !== undefined && last !== call) {
      this.calls[call.inFlightAt] = last;
      last.inFlightAt = call.inFlightAt;
    }
    call.inFlightAt = -1;
  }

  /** Iterates in no order, over a copy, so a call may end during the loop. */
  [Symbol.iterator](): Iterator<HttpCall> {
    return [...this.calls][Symbol.iterator]();
  }

  private giveUpPlace(call: HttpCall): void {
    const { placeOf } = call;
    if (placeOf === undefined) return;
    call.placeOf = undefined;
    this.placed--;
    if (call.left) this.left--;
    const own = this.byAccount.get(placeOf);
    if (!own) return;
    own.calls--;
    if (call.left) own.left--;
    if (own.calls === 0) this.byAccount.delete(placeOf);
  }
}

const FULL = refuse.unavailable(
  "The gateway has as many calls in flight as it can take; try again shortly.",
);
const FULL_OF_ACCOUNT = refuse.rateLimited(
  "This account has as many calls in flight as it may have; wait for some to end.",
  { headers: ["retry-after", "1"] },
);

function fullOfLeft(left: number): Refusal {
  return refuse.rateLimited(
    `${left} calls of this account that were left before their replies ended are still running, and are charged as if ` +
      "their clients had stayed: wait for some to end, and set longer timeouts in your client.",
    { headers: ["retry-after", "5"] },
  );
}
