import { type Refusal, refuse } from "../../core/contract/index.ts";

/**
 * Limits of calls that fetch images at the same time: of all accounts, and of one. Each call keeps at most two images
 * of the largest size.
 */
const PLACES = 8;
const PLACES_OF_ACCOUNT = 2;

/** Bounds the memory of images that are being fetched. */
export class FetchPlaces {
  private readonly taken = new Map<string, number>();
  private all = 0;

  /** Runs `fetch` if there is a place. Returns the refusal otherwise. */
  async run<T>(accountId: string, fetch: () => Promise<T>): Promise<T | Refusal> {
    const own = this.taken.get(accountId) ?? 0;
    if (own >= PLACES_OF_ACCOUNT) return TOO_MANY_OF_ACCOUNT;
    if (this.all >= PLACES) return TOO_MANY;
    this.taken.set(accountId, own + 1);
    this.all += 1;
    try {
      return await fetch();
    } finally {
      this.leave(accountId);
    }
  }

  private leave(accountId: string): void {
    const left = (this.taken.get(accountId) ?? 1) - 1;
    if (left === 0) this.taken.delete(accountId);
    else this.taken.set(accountId, left);
    this.all -= 1;
  }
}

const RETRY = ["retry-after", "1"] as const;
const TOO_MANY = refuse.unavailable(
  "The gateway is fetching images for as many calls as it can; try again shortly, or send the images themselves.",
);
const TOO_MANY_OF_ACCOUNT = refuse.rateLimited(
  "Too many images are being fetched for other calls of this account; try again when they are done.",
  { headers: RETRY },
);
