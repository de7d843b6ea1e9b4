import type { Random } from "../support/random.ts";

/** Cards in the order of a seed: each as often as its weight, then all of them again in another order. */
export class Deck<Card extends { readonly weight: number }> {
  private cards: Card[] = [];

  constructor(
    private readonly random: Random,
    private readonly kinds: readonly Card[],
  ) {}

  draw(): Card | undefined {
    if (this.cards.length === 0) this.cards = this.shuffled();
    return this.cards.pop();
  }

  /** Puts a card back, so that it comes again before the cards are shuffled. */
  putBack(card: Card): void {
    this.cards.unshift(card);
  }

  private shuffled(): Card[] {
    const { random, kinds } = this;
    const cards = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));
    for (let at = cards.length - 1; at > 0; at -= 1) {
      const other = random.below(at + 1);
      [cards[at], cards[other]] = [cards[other]!, cards[at]!];
    }
    return cards;
  }
}
