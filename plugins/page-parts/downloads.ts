/** Returns the headers of a file that a browser saves under `name`. */
export function fileHeaders(name: string, type = "text/csv; charset=utf-8"): string[] {
  const saved = `attachment; filename="${name}"`;
  return ["content-type", type, "content-disposition", saved, "cache-control", "no-store"];
}

/** The files that customers download at this moment, by account. */
export class Downloads {
  private readonly open = new Map<string, number>();

  /** `max`: how many an account may download at the same time. */
  constructor(private readonly max: number) {}

  isFull(accountId: string): boolean {
    return (this.open.get(accountId) ?? 0) >= this.max;
  }

  /** Counts a download from its first read. If the client left before that, it is never read or counted. */
  async *counted(accountId: string, chunks: AsyncIterable<string>): AsyncGenerator<string> {
    this.open.set(accountId, (this.open.get(accountId) ?? 0) + 1);
    try {
      yield* chunks;
    } finally {
      const left = (this.open.get(accountId) ?? 1) - 1;
      if (left > 0) this.open.set(accountId, left);
      else this.open.delete(accountId);
    }
  }
}
