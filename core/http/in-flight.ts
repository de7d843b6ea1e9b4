import type { CallsInFlight } from "../contract/services.ts";
import type { HttpCall } from "./http-call.ts";

/**
 * The calls that are open. An array in which the last call takes the place of one that ends, not a Set: a Set
 * leaves behind a chain of outgrown tables that still point at calls, and the garbage collector then moves
 * every call of the past second around, 4 KB each, before it may forget it.
 */
export class OpenCalls implements CallsInFlight {
  private readonly calls: HttpCall[] = [];

  get size(): number {
    return this.calls.length;
  }

  accountOf(callId: string): string | undefined {
    return this.calls.find(({ id }) => id === callId)?.key?.accountId;
  }

  has(call: HttpCall): boolean {
    return this.calls[call.slot] === call;
  }

  add(call: HttpCall): void {
    call.slot = this.calls.length;
    this.calls.push(call);
  }

  delete(call: HttpCall): void {
    if (!this.has(call)) return;
    const last = this.calls.pop();
    if (last !== undefined && last !== call) {
      this.calls[call.slot] = last;
      last.slot = call.slot;
    }
    call.slot = -1;
  }

  /** In no order; a call may end while it is visited. */
  [Symbol.iterator](): Iterator<HttpCall> {
    return [...this.calls][Symbol.iterator]();
  }
}
