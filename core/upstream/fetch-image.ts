import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { Agent, Dispatcher } from "undici";
import {
  type FetchedImage,
  type ImageFetcher,
  type ImageFetcherOptions,
  imageType,
} from "../contract/images.ts";
import { upstreamConnector } from "./connect.ts";

const REDIRECTS_MAX = 3;
const TIMEOUT_MS = 20_000;
const CONNECT_MS = 5_000;

/**
 * Fetches images that customers name by address. Unless `anyAddress` is set, from public addresses
 * only. The address is checked after the name is resolved, when connecting, and for every redirect,
 * so that a customer cannot reach the operator's own network.
 */
export class HttpImageFetcher implements ImageFetcher {
  private agent: Agent | undefined;
  private readonly anyAddress: boolean;
  private readonly bytesMax: number;

  constructor(settings: ImageFetcherOptions) {
    this.anyAddress = settings.anyAddress;
    this.bytesMax = settings.bytesMax;
  }

  /** Returns the image, or a sentence that says why there is none. */
  async fetch(address: string, signal?: AbortSignal): Promise<FetchedImage | string> {
    let url = address;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      if (!this.mayAsk(url)) return "only public http(s) addresses are fetched";
      let response: Dispatcher.ResponseData;
      try {
        response = await this.request(url, signal);
      } catch (error) {
        const isPrivate = error instanceof Error && error.message === NOT_PUBLIC;
        return isPrivate ? "only public http(s) addresses are fetched" : "it cannot be fetched";
      }
      // A destroyed body emits an error. Without a listener, that ends the process.
      response.body.on("error", () => {});
      const { location } = response.headers;
      if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === "string") {
        response.body.destroy();
        const next = URL.canParse(location, url) ? new URL(location, url).href : undefined;
        if (next === undefined) return "it redirects to no address";
        url = next;
        continue;
      }
      if (response.statusCode !== 200) {
        response.body.destroy();
        return `its server returned ${response.statusCode}`;
      }
      return this.read(response.body);
    }
    return "it redirects too often";
  }

  async close(): Promise<void> {
    await this.agent?.destroy();
  }

  /** Loads all of undici only when an image is fetched: calls need only its connections. */
  private async request(url: string, signal?: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { Agent, request } = await import("undici");
    this.agent ??= new Agent({
      connect: upstreamConnector(CONNECT_MS, this.anyAddress ? undefined : publicLookup),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    return request(url, { dispatcher: this.agent, signal: either });
  }

  private mayAsk(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const { protocol, hostname } = new URL(address);
    if (protocol !== "http:" && protocol !== "https:") return false;
    const host = hostname.replace(/^\[|\]$/g, "");
    // A literal address is not looked up, so check it here.
    return this.anyAddress || isIP(host) === 0 || isPublic(host);
  }

  private async read(body: AsyncIterable<Buffer>): Promise<FetchedImage | string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > this.bytesMax) return `it is larger than ${this.bytesMax / 1_048_576} MB`;
        chunks.push(chunk);
      }
    } catch {
      return "it cannot be fetched";
    }
    const data = Buffer.concat(chunks);
    const type = imageType(data);
    return type === undefined ? "it is no PNG, JPEG, WebP or GIF" : { data, type };
  }
}

const NOT_PUBLIC = "the address is not public";

/** IPv6 assigns only these to hosts; the rest of the address space is reserved. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns true for an address of the public internet: of no range that is private, reserved or an
 * alias.
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST);
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, "", 0);
    // Refuse if any of them is private: a name can resolve differently each time.
    if (!addresses.every((entry) => isPublic(entry.address))) {
      return callback(new Error(NOT_PUBLIC), "", 0);
    }
    if (options.all) return callback(null, addresses);
    const [first] = addresses;
    return first
      ? callback(null, first.address, first.family)
      : callback(new Error(NOT_PUBLIC), "");
  });
};
