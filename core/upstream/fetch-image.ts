import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import type { ImageSettings } from "../plugin/config.ts";
import type { FetchedImage, ImageFetch, ImageFetcher } from "../plugin/services.ts";
import { isPublic, isPublicHost } from "../process/public-address.ts";
import { program } from "../process/root.ts";
import { imageType } from "../wire/file-type.ts";
import { upstreamConnector } from "./connect.ts";

const BYTES_MAX = 20 * 1_048_576;
const REDIRECTS_MAX = 3;
const TIMEOUT_MS = 20_000;
const CONNECT_MS = 5_000;

/** Servers of images refuse a client that does not say who it is: phabricator.wikimedia.org/T400119. */
const HEADERS = { "user-agent": `Tollgate/${program.version}`, accept: "image/*,*/*;q=0.8" };

/** One text for all of these: different ones would let a customer list the names and ports of the operator's network. */
const NOT_FETCHED =
  "it cannot be fetched; its server must be public, on port 80 or 443, and return the image with status 200";

/**
 * Fetches images that customers name by address: from public addresses only, unless the config allows others. The
 * address is checked after the name is resolved, and for every redirect; the connection goes to the address that was
 * checked. So a customer cannot reach the operator's own network.
 */
export class HttpImageFetcher implements ImageFetcher {
  constructor(private readonly settings: () => ImageSettings) {}

  async fetch(address: string, of: ImageFetch): Promise<FetchedImage | string> {
    let url = address;
    try {
      for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
        const reply = await this.ask(url, of);
        if (!(reply instanceof URL)) return reply;
        url = reply.href;
      }
    } catch {
      return NOT_FETCHED;
    }
    return "it redirects too often";
  }

  /** Returns the image, a sentence that says why there is none, or the address that it is redirected to. */
  private async ask(
    address: string,
    { signal, received }: ImageFetch,
  ): Promise<FetchedImage | string | URL> {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url?.protocol !== "http:" && url?.protocol !== "https:") return NOT_FETCHED;
    // `port` is empty for the usual one. Other ports only serve customers who scan them.
    const { privateAddresses } = this.settings();
    if (!privateAddresses && !["", "80", "443"].includes(url.port)) return NOT_FETCHED;
    const addresses = await this.addressesOf(url.hostname, signal);
    if (!addresses) return NOT_FETCHED;
    // Loads all of undici only when an image is fetched: calls need only its connections.
    const { Client } = await import("undici");
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
    const lookup = lookupOf(addresses);
    const connect = upstreamConnector({ connectMs: CONNECT_MS, lookup, proxyFor: () => undefined });
    const client = new Client(url.origin, { connect, ...timeouts });
    try {
      const path = url.pathname + url.search;
      const reply = await client.request({ method: "GET", path, signal, headers: HEADERS });
      return await read(reply, url, received);
    } finally {
      void client.destroy();
    }
  }

  /** Returns the addresses of a host; undefined if one of them is private, since a name can resolve differently each time. */
  private async addressesOf(
    hostname: string,
    signal: AbortSignal,
  ): Promise<readonly LookupAddress[] | undefined> {
    const { privateAddresses, nameServers } = this.settings();
    if (!privateAddresses && !isPublicHost(hostname)) return undefined;
    const host = hostname.replace(/^\[|\]$/g, "");
    const family = isIP(host);
    const addresses =
      family === 0 ? await resolveName(host, nameServers, signal) : [{ address: host, family }];
    if (privateAddresses) return addresses;
    return addresses.every((entry) => isPublic(entry.address)) ? addresses : undefined;
  }
}

function lookupOf(addresses: readonly LookupAddress[]): LookupFunction {
  const [{ address, family } = { address: "", family: 0 }] = addresses;
  return (_name, { all }, callback) => {
    if (all) callback(null, [...addresses]);
    else callback(null, address, family);
  };
}

async function read(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  url: URL,
  received: ImageFetch["received"],
): Promise<FetchedImage | string | URL> {
  // A destroyed body emits an error. Without a listener, that ends the process.
  body.on("error", () => {});
  const { location } = headers;
  if (statusCode >= 300 && statusCode < 400 && typeof location === "string") {
    return URL.canParse(location, url) ? new URL(location, url) : "it redirects to no address";
  }
  if (statusCode !== 200) return NOT_FETCHED;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) return `it is larger than ${BYTES_MAX / 1_048_576} MB`;
    received(chunk.length);
    chunks.push(chunk);
  }
  const data = Buffer.concat(chunks);
  const type = imageType(data);
  return type === undefined ? "it is no PNG, JPEG, WebP or GIF" : { data, type };
}

/** How long a name server has to reply. Each is asked once, the next one after that. */
const LOOKUP_MS = 2_000;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Returns the addresses of a name that a customer gave, IPv4 first. Rejects if it has none, or once `signal` is aborted.
 *
 * Asks name servers itself: by default those of the machine. `dns.lookup` would use libuv's thread pool, which runs two
 * lookups of the whole process at a time. Two names whose server is silent would then stop every new connection to a
 * provider or a store. `/etc/hosts` and search domains are not read.
 */
async function resolveName(
  name: string,
  servers: readonly string[],
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const plain = name.replace(/\.$/, "");
  if (plain === "localhost" || plain.endsWith(".localhost")) return LOOPBACK;
  signal.throwIfAborted();
  // One resolver for each name: to cancel it ends all its queries.
  const resolver = new Resolver({ timeout: LOOKUP_MS, tries: 1 });
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (addresses.length === 0 && v4.status === "rejected") throw v4.reason;
    return addresses;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  if (result.status === "rejected") return [];
  return result.value.map((address) => ({ address, family }));
}
