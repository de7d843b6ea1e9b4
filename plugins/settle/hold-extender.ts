import {
  type Call,
  failpoint,
  type Outcome,
  type Refusal,
  type ServerEvent,
  type Sink,
} from "../../core/plugin/index.ts";
import { amountFor, outputFor } from "./bounds.ts";
import type { Wallets } from "./posting.ts";

interface ExtenderSettings {
  readonly sliceTokens: number;
  /**
   * Returns the error that ends a stream if its wallet or a limit is used up, or, without `short`, if its hold is gone;
   * undefined lets streams finish.
   */
  readonly onShort:
    | ((
        short:
          | Extract<Awaited<ReturnType<Wallets["hold"]>>, { readonly kind: "short" }>
          | undefined,
      ) => Refusal)
    | undefined;
}

/** An upstream ignores its limit if it delivers this much more than the limit. Estimates are not exact. */
const SLACK_TOKENS = 64;
const SLACK_SHARE = 0.25;

/**
 * Extends the hold of a stream in the background, one slice ahead of its output. Pauses a stream that reaches the end of
 * its hold while an extension is pending. Cuts it if the extension is refused.
 */
export class HoldExtender implements Sink {
  private pending = false;
  /** True while the reported input exceeds the hold. */
  private overInput = false;
  private exhausted = false;
  private short:
    | Extract<Awaited<ReturnType<Wallets["hold"]>>, { readonly kind: "short" }>
    | undefined = undefined;
  private waiting = false;
  private over = false;

  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly held: NonNullable<Call["held"]>,
    private readonly wallets: Wallets,
    private readonly settings: ExtenderSettings,
  ) {}

  head(status: number, headers: readonly string[]): void {
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    this.client.event(event);
    const { held, call } = this;
    // A report at the end of the stream comes too late to change anything.
    if (call.deliveredTokens === 0) this.checkInput();
    if (call.deliveredTokens + this.settings.sliceTokens / 2 < held.outputTokens) return;
    this.runLow();
  }

  data(bytes: Uint8Array): void {
    this.client.data(bytes);
  }

  end(outcome: Outcome): void {
    this.over = true;
    this.client.end(outcome);
  }

  /** The first event may report more input than is held, because tools of the provider add input. */
  private checkInput(): void {
    const { held, call } = this;
    if (!call.usage || this.overInput || this.over) return;
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = call.usage;
    const reported = { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens: 0, images: 0 };
    const input = held.tariff.quantityOf(reported);
    if (input <= held.baseQuantity) return;
    held.baseQuantity = input;
    this.overInput = true;
    this.extend(held.outputTokens, 1);
    if (this.exhausted) this.cut();
    else if (this.pending) this.wait();
    else this.overInput = false;
  }

  private runLow(): void {
    const { held, call } = this;
    if (!this.pending && !this.exhausted && held.outputTokens < this.limit) this.extendBySlice();
    if (call.deliveredTokens < held.outputTokens || this.over) return;
    if (this.exhausted) this.cut();
    else if (this.pending) this.wait();
  }

  /** The maximum output to hold for: the call's limit, unless its upstream clearly ignores it. */
  private get limit(): number {
    const { outputTokensMax } = this.held;
    const ignored = outputTokensMax + Math.max(SLACK_TOKENS, outputTokensMax * SLACK_SHARE);
    return this.call.deliveredTokens > ignored ? Number.POSITIVE_INFINITY : outputTokensMax;
  }

  private wait(): void {
    if (this.waiting) return;
    this.waiting = true;
    this.call.flow?.pause();
  }

  private extendBySlice(): void {
    const { held, call } = this;
    const covered = Math.max(held.outputTokens, call.deliveredTokens);
    const total = Math.min(covered + this.settings.sliceTokens, this.limit);
    // An extension below the delivered output would not stop the stream, though it exceeds its hold.
    this.extend(total, Math.min(covered + 1, total));
  }

  /** Extends the hold to an output of `total` tokens, or of at least `floor`. */
  private extend(total: number, floor: number): void {
    const { held, call } = this;
    failpoint("extend.before");
    const result = this.wallets.extend({
      callId: call.id,
      accountId: call.key?.accountId ?? "",
      totalMicroVnd: amountFor(held, total),
      floorMicroVnd: amountFor(held, floor),
    });
    if (!(result instanceof Promise)) return this.decide(result);
    this.pending = true;
    result.then(
      (late) => this.decideLate(late),
      // The hold store is down: let the stream go on. Its post is spooled.
      () => this.decideLate({ kind: "held", amountMicroVnd: amountFor(held, total) }),
    );
  }

  private decide(result: Awaited<ReturnType<Wallets["extend"]>>): void {
    failpoint("extend.after");
    if (result.kind !== "held") {
      this.exhausted = true;
      if (result.kind === "short") this.short = result;
      return;
    }
    const { held } = this;
    this.call.heldMicroVnd = result.amountMicroVnd;
    held.outputTokens = Math.min(outputFor(held, result.amountMicroVnd), this.limit);
  }

  private decideLate(result: Awaited<ReturnType<Wallets["extend"]>>): void {
    this.pending = false;
    if (this.over) return;
    this.decide(result);
    const isOver = this.overInput || this.call.deliveredTokens >= this.held.outputTokens;
    if (this.exhausted && isOver) this.cut();
    this.overInput = false;
    if (!this.waiting) return;
    this.waiting = false;
    this.call.flow?.resume();
  }

  private cut(): void {
    const refusal = this.settings.onShort?.(this.short);
    if (refusal) this.call.flow?.cut({ kind: "exhausted", refusal });
  }
}
