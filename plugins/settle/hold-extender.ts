import {
  affordable,
  type Call,
  type ExtendResult,
  failpoint,
  type Held,
  type Outcome,
  priceOf,
  type Refusal,
  type ServerEvent,
  type Short,
  type Sink,
  type Wallets,
} from "../../core/contract/index.ts";

interface ExtenderSettings {
  readonly sliceTokens: number;
  /** Returns the error that ends a stream if its wallet or a limit is used up; undefined lets streams finish. */
  readonly onShort: ((short: Short | undefined) => Refusal) | undefined;
}

/**
 * Extends the hold of a stream in the background, one slice ahead of its output. Pauses a stream that reaches the end of
 * its hold while an extension is pending. Cuts it if the extension is refused.
 */
export class HoldExtender implements Sink {
  private readonly call: Call;
  private readonly client: Sink;
  private readonly held: Held;
  private readonly wallets: Wallets;
  private readonly settings: ExtenderSettings;
  private pending = false;
  private exhausted = false;
  private short: Short | undefined = undefined;
  private waiting = false;
  private over = false;

  constructor(call: Call, client: Sink, held: Held, wallets: Wallets, settings: ExtenderSettings) {
    this.call = call;
    this.client = client;
    this.held = held;
    this.wallets = wallets;
    this.settings = settings;
  }

  head(status: number, headers: readonly string[]): void {
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    this.client.event(event);
    const { held, call } = this;
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

  private runLow(): void {
    const { held, call } = this;
    if (!this.pending && !this.exhausted && held.outputTokens < held.outputTokensMax) this.extend();
    if (call.deliveredTokens < held.outputTokens || this.over) return;
    if (this.exhausted) this.cut();
    else if (this.pending && !this.waiting) {
      this.waiting = true;
      call.flow?.pause();
    }
  }

  private extend(): void {
    const { held, call } = this;
    const covered = Math.max(held.outputTokens, call.deliveredTokens);
    const total = Math.min(covered + this.settings.sliceTokens, held.outputTokensMax);
    // An extension below what is delivered would not stop the stream, though it exceeds its hold.
    const floor = Math.min(covered + 1, total);
    failpoint("extend.before");
    const result = this.wallets.extend({
      callId: call.id,
      accountId: call.key?.accountId ?? "",
      totalMicroVnd: priceOf(held.baseUnits + total, held.tariff),
      floorMicroVnd: priceOf(held.baseUnits + floor, held.tariff),
    });
    if (!(result instanceof Promise)) return this.decide(result);
    this.pending = true;
    result.then(
      (late) => this.decideLate(late),
      // The hold store is down: let the stream go on. Its post is spooled.
      () =>
        this.decideLate({
          kind: "held",
          amountMicroVnd: priceOf(held.baseUnits + total, held.tariff),
        }),
    );
  }

  private decide(result: ExtendResult): void {
    failpoint("extend.after");
    if (result.kind !== "held") {
      this.exhausted = true;
      if (result.kind === "short") this.short = result;
      return;
    }
    const { held } = this;
    this.call.heldMicroVnd = result.amountMicroVnd;
    held.outputTokens = Math.min(
      affordable(result.amountMicroVnd, held.tariff) - held.baseUnits,
      held.outputTokensMax,
    );
  }

  private decideLate(result: ExtendResult): void {
    this.pending = false;
    if (this.over) return;
    this.decide(result);
    if (this.exhausted && this.call.deliveredTokens >= this.held.outputTokens) this.cut();
    if (!this.waiting) return;
    this.waiting = false;
    this.call.flow?.resume();
  }

  private cut(): void {
    const refusal = this.settings.onShort?.(this.short);
    if (refusal) this.call.flow?.cut({ kind: "exhausted", refusal });
  }
}
