import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { LIFETIMES, type Lifetimes } from "../lifetimes.ts";
import type { EmbeddedCalls } from "./calls.ts";
import { isIdle, type Wallet } from "./wallet.ts";
import type { EmbeddedWallets } from "./wallets.ts";

/** Number of wallets that one turn looks at, which takes about 0.1 ms. */
const STEP = 1_000;

/** Times in ms. Tests shorten them. */
export type IdleTimes = Pick<Lifetimes, "walletIdleMs" | "idleLookMs">;

/** Closes wallets and purses without a call for a day, so that memory has only those in use. */
export class IdleWallets {
  private readonly task: PeriodicTask;
  private looking: Iterator<Wallet> | undefined;

  constructor(
    private readonly wallets: EmbeddedWallets,
    private readonly calls: EmbeddedCalls,
    private readonly machine: Machine,
    private readonly times: IdleTimes,
  ) {
    this.task = new PeriodicTask(() => Promise.resolve(this.look()), machine);
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Looks at the next wallets. Returns the pause before the next look, in ms. */
  private look(): number {
    this.looking ??= this.wallets.all();
    const idle: Wallet[] = [];
    const nowMs = this.machine.monotonic();
    for (let count = 0; count < STEP; count += 1) {
      const { done, value: wallet } = this.looking.next();
      if (done) {
        this.looking = undefined;
        break;
      }
      if (isIdle(wallet, nowMs, this.times.walletIdleMs)) idle.push(wallet);
    }
    // The hold of a call can be 0 although the call costs something.
    const used = idle.length > 0 ? this.calls.walletsInUse() : undefined;
    for (const wallet of idle) if (!used?.has(wallet)) this.wallets.close(wallet);
    return this.looking ? LIFETIMES.idleStepMs : this.times.idleLookMs;
  }
}
