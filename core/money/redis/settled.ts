/** If a bucket is settled: its last round found nothing to do and nothing to wait for, so looks at it may be seldom. */
export class Settled {
  private settled = false;
  private outdated = false;
  /** True if the next round is due in `settledRoundMs`. */
  private paused = false;

  get isSettled(): boolean {
    return this.settled;
  }

  /** True if it was settled until a heartbeat found another version: a look need name only the members that changed. */
  get isOutdated(): boolean {
    return this.outdated;
  }

  begin(): void {
    this.settled = true;
    this.paused = true;
  }

  /** Makes rounds look at every heartbeat until it begins again. Returns false if the next round must be hurried. */
  end(isOutdated = false): boolean {
    this.settled = false;
    this.outdated = isOutdated;
    return !this.paused;
  }

  /** A round begins. */
  look(): void {
    this.end();
    this.paused = false;
  }
}
