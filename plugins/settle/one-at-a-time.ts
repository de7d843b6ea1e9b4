import type { Call } from "../../core/plugin/index.ts";

/**
 * The running calls whose input cannot be computed from the request, one for each account in this
 * process. So an account can cost at most one call's excess over what its wallet covers.
 */
export class OneAtATime {
  private readonly running = new Map<string, Call>();

  /** Returns false if another such call of the account is running. */
  begin(accountId: string, call: Call): boolean {
    if (this.running.has(accountId)) return false;
    this.running.set(accountId, call);
    return true;
  }

  end(call: Call): void {
    const accountId = call.key?.accountId ?? "";
    if (this.running.get(accountId) === call) this.running.delete(accountId);
  }
}
