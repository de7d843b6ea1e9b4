/** Whether the wallets of a bucket are believed. */
export class Doubt {
  /** The epoch in doubt; "" for the one that the next round finds; undefined if there is no doubt. */
  private epoch: string | undefined = undefined;

  get isOpen(): boolean {
    return this.epoch !== undefined;
  }

  /** `epoch`: by default the one that the next round finds. */
  raise(epoch = ""): void {
    this.epoch ??= epoch;
  }

  /**
   * Returns true if the epoch that a round found has to end. A later one than the epoch in doubt was begun since, by this
   * process or another one, with wallets from the ledger as it is now. That ends the doubt.
   */
  concerns(found: string, begunHere: string): boolean {
    if (this.epoch === undefined) return false;
    this.epoch ||= found;
    const isOld = found !== "" && found !== begunHere && Number(found) <= Number(this.epoch);
    if (!isOld) this.epoch = undefined;
    return isOld;
  }
}
