import { isRefusal, type Refusal, refuse } from "../../core/plugin/index.ts";

/** Limits of calls that fetch images at the same time: of all accounts, and of one. */
const PLACES = 256;
const PLACES_OF_ACCOUNT = 2;
/** Maximum bytes of all images that are being fetched. One call keeps at most two images of 20 MB. */
const BYTES_MAX = 8 * 20 * 1_048_576;
/** How long a call may fetch. */
const FETCH_MS = 30_000;
/**
 * How long an account's place stays taken after images that could not be fetched: such a call is free, and each asks a
 * name server.
 */
const REST_MS = 1_000;

/** The place of a call that fetches images. */
class Place {
  bytes = 0;
  isDisplaced = false;
  private readonly controller = new AbortController();

  constructor(
    readonly accountId: string,
    private readonly count: () => void,
  ) {}

  /** Aborted when the client leaves, the time is over, or the memory is needed for others. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  end(): void {
    this.controller.abort();
    this.bytes = 0;
  }

  displace(): void {
    this.isDisplaced = true;
    this.end();
  }

  /** Counts bytes of an image that have arrived. */
  readonly received = (bytes: number): void => {
    if (this.signal.aborted) return;
    this.bytes += bytes;
    this.count();
  };
}

export type { Place };

/**
 * Bounds the sockets and the memory of images that are being fetched. A slow server takes one of many places and hardly
 * any memory, so a few accounts cannot keep the others from fetching. If the memory is full, the account that takes most
 * of it loses.
 */
export class FetchPlaces {
  private readonly places = new Set<Place>();

  /** Runs `fetch` if there is a place. Returns the refusal otherwise. */
  async run<T>(
    accountId: string,
    left: AbortSignal,
    fetch: (place: Place) => Promise<T | Refusal>,
  ): Promise<T | Refusal> {
    if (this.of(accountId).length >= PLACES_OF_ACCOUNT) return TOO_MANY_OF_ACCOUNT;
    if (this.places.size >= PLACES) return TOO_MANY;
    const place = new Place(accountId, () => this.makeRoom());
    this.places.add(place);
    const end = () => place.end();
    // Not `AbortSignal.any` with `AbortSignal.timeout`: Node 20 loses such a timeout when it collects garbage.
    const timer = setTimeout(end, FETCH_MS);
    left.addEventListener("abort", end, { once: true });
    let restMs = REST_MS;
    try {
      const result = await fetch(place);
      if (!isRefusal(result)) restMs = 0;
      return place.isDisplaced ? TOO_MANY : result;
    } finally {
      place.end();
      clearTimeout(timer);
      left.removeEventListener("abort", end);
      if (restMs === 0) this.places.delete(place);
      else setTimeout(() => this.places.delete(place), restMs).unref();
    }
  }

  private of(accountId: string): readonly Place[] {
    return [...this.places].filter((place) => place.accountId === accountId);
  }

  /** Ends the largest fetch of the account that takes most, if all together take too much. */
  private makeRoom(): void {
    const places = [...this.places];
    if (bytesOf(places) <= BYTES_MAX) return;
    const ofAccounts = places.map(({ accountId }) => bytesOf(this.of(accountId)));
    const most = Math.max(...ofAccounts);
    const largest = places.filter((_, at) => ofAccounts[at] === most);
    largest.sort((a, b) => b.bytes - a.bytes)[0]?.displace();
  }
}

function bytesOf(places: readonly Place[]): number {
  return places.reduce((sum, { bytes }) => sum + bytes, 0);
}

const RETRY = ["retry-after", "1"] as const;
const TOO_MANY = refuse.unavailable(
  "The gateway is fetching images for as many calls as it can; try again shortly, or send the images themselves.",
);
const TOO_MANY_OF_ACCOUNT = refuse.rateLimited(
  "Too many images are being fetched for other calls of this account; try again when they are done.",
  { headers: RETRY },
);
