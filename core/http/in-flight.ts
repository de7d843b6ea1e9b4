import type { CallsInFlight } from "../contract/services.ts";
import type { HttpCall } from "./http-call.ts";

/**
 * The calls of this process that have not ended: an array, in which the last call moves to the
 * index of one that ends.
 *
 * Not a Set: a Set that grows leaves old tables in memory, which still point at calls. The garbage
 * collector then copies every call of the past second, 4 KB each, before it can free it.
 */
export class HttpCallsInFlight implements CallsInFlight {
  private readonly calls: HttpCall[] = [];
  private refused = 0;

  /** Calls that take a place: all but those that are refused and only wait for the end of their body. */
  get places(): number {
    return this.calls.length - this.refused;
  }

  /** Refused calls that wait for the end of their body. */
  get refusedCount(): number {
    return this.refused;
  }

  /** Marks a call as refused: it gives up its place. */
  giveUpPlace(call: HttpCall): void {
    if (!this.has(call) || call.gaveUpPlace) return;
    call.gaveUpPlace = true;
    this.refused++;
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
    if (call.gaveUpPlace) this.refused--;
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
}
