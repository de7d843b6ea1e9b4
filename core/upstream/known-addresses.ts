import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import type { Clock } from "../process/clock.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";

const FRESH_MS = 10_000;
/** How long a new lookup may take before the last known addresses are used. */
const PATIENCE_MS = 500;

/** Node's own wait for one address of a name. */
const ADDRESS_MS_MIN = 250;
/** So many silent addresses of a name may be tried before the wait for a connection is over. */
const ADDRESSES_TRIED = 4;

/**
 * Returns how long one of several addresses may take to connect, of a wait of `connectMs`. Node's 250 ms are less than
 * the way around the world: with a second address that cannot be reached, no connection to a far provider is ever opened.
 */
export function addressMs(connectMs: number): number {
  return Math.max(ADDRESS_MS_MIN, Math.round(connectMs / ADDRESSES_TRIED));
}

type Options = Parameters<LookupFunction>[1];
type Find = (name: string, options: Options) => Promise<readonly LookupAddress[]>;

interface Known {
  readonly addresses: readonly LookupAddress[];
  readonly atMs: number;
}

/**
 * The addresses of the config's upstreams. If a lookup is slow or fails, the last known ones are used, however old:
 * a dead name server must not stop new connections to a provider that works.
 */
export class KnownAddresses {
  private readonly known = new Map<string, Known>();
  /** One lookup at a time for each name: it may take a place in libuv's thread pool for ten seconds. */
  private readonly running = new Map<string, Promise<readonly LookupAddress[]>>();

  constructor(
    private readonly clock: Pick<Clock, "monotonic">,
    private readonly find: Find = (name, options) => lookup(name, { ...options, all: true }),
  ) {}

  /** Works as `dns.lookup`. */
  readonly lookup: LookupFunction = (name, options, callback) => {
    this.addressesOf(name, options).then(
      (addresses) => {
        if (options.all) return callback(null, [...addresses]);
        const [first] = addresses;
        callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ""),
    );
  };

  private async addressesOf(name: string, options: Options): Promise<readonly LookupAddress[]> {
    const known = this.known.get(name);
    if (!known) return this.refresh(name, options);
    if (this.clock.monotonic() - known.atMs < FRESH_MS) return known.addresses;
    const work = this.refresh(name, options).catch(() => known.addresses);
    const found = await withTimeout(work, PATIENCE_MS);
    return found === TIMED_OUT ? known.addresses : found;
  }

  private refresh(name: string, options: Options): Promise<readonly LookupAddress[]> {
    const running = this.running.get(name);
    if (running) return running;
    const found = this.find(name, options)
      .then((addresses) => {
        this.known.set(name, { addresses, atMs: this.clock.monotonic() });
        return addresses;
      })
      .finally(() => this.running.delete(name));
    this.running.set(name, found);
    return found;
  }
}
