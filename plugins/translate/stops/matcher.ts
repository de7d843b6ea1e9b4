/** Finds the stop sequence that ends first in a text that arrives in pieces. */
export class StopMatcher {
  matched: string | undefined = undefined;
  /** Text that may be the beginning of a stop sequence. */
  private held = "";

  constructor(private readonly stops: readonly string[]) {}

  /** Returns the text that is surely before any stop sequence. */
  push(piece: string): string {
    const text = this.held + piece;
    this.held = "";
    let at = -1;
    let end = Number.POSITIVE_INFINITY;
    for (const stop of this.stops) {
      const found = text.indexOf(stop);
      const foundEnd = found + stop.length;
      if (found === -1 || foundEnd > end || (foundEnd === end && found > at)) continue;
      at = found;
      end = foundEnd;
      this.matched = stop;
    }
    if (at !== -1) return text.slice(0, at);
    const from = this.heldFrom(text);
    this.held = text.slice(from);
    return text.slice(0, from);
  }

  /** Returns the text that was held, at the end of all text. */
  rest(): string {
    const { held } = this;
    this.held = "";
    return held;
  }

  private heldFrom(text: string): number {
    let from = text.length;
    for (const stop of this.stops) {
      const earliest = Math.max(0, text.length - stop.length + 1);
      for (let at = earliest; at < from; at++) {
        if (stop.startsWith(text.slice(at))) from = at;
      }
    }
    return from;
  }
}
