/** Whether the wallets of a bucket are believed. */
export class Doubt {
  /** The epoch in doubt; undefined if there is no doubt. */
  private epoch: string | undefined = undefined;
  /** Epochs up to this one are over, ms since 1970: an operator's restore ended them. */
  private endedEpoch = 0;

  raise(epoch: string): void {
    this.epoch ??= epoch;
  }

  /** Returns true if more epochs are over than were known to be. */
  end(endedEpoch: number): boolean {
    const isNews = endedEpoch > this.endedEpoch;
    if (isNews) this.endedEpoch = endedEpoch;
    return isNews;
  }

  isOver(epoch: string): boolean {
    return epoch !== "" && Number(epoch) <= this.endedEpoch;
  }

  /** The epoch that a new one must exceed: `epoch`, and all that are over. */
  exceeded(epoch: string): string {
    return String(Math.max(Number(epoch), this.endedEpoch));
  }

  /**
   * Returns true if the epoch that a round found has to end. A later one than the epoch in doubt was begun since, by this
   * process or another one, with wallets from the ledger as it is now. That ends the doubt.
   */
  concerns(found: string, begunHere: string): boolean {
    if (this.isOver(found)) return true;
    if (this.epoch === undefined) return false;
    const isOld = found !== "" && found !== begunHere && Number(found) <= Number(this.epoch);
    if (!isOld) this.epoch = undefined;
    return isOld;
  }
}
