import * as v from "valibot";
import type { Protocol } from "../../catalogue/endpoint.ts";
import { described, mapping, url } from "../../process/options.ts";

/** The end of a call's whole path by protocol. An address that ends so was copied from a provider's example of a call. */
const CALL_PATHS: Readonly<Partial<Record<Protocol, RegExp>>> = {
  messages: /\/messages$/,
  chat: /\/chat\/completions$/,
  responses: /\/responses$/,
  images: /\/images\/(?:generations|edits)$/,
  speech: /\/audio\/speech$/,
};

/** Returns the schema of one protocol's base address; `adds` is the path that the gateway appends to it. */
function baseOf(protocol: Protocol, adds: string) {
  const isNot = (wrong: (address: URL) => boolean) => (given: string) =>
    !URL.canParse(given) || !wrong(new URL(given));
  const path = ({ pathname }: URL) => pathname.replace(/\/+$/, "");
  return v.pipe(
    url(["http", "https"], "an http:// or https:// URL without a query"),
    v.check(
      isNot(({ port }) => port === "0"),
      "an address with a port from 1 to 65535",
    ),
    v.check(
      isNot(({ username, password }) => username !== "" || password !== ""),
      "an address without a user and password, since they are not sent; keys go into `keys`",
    ),
    v.check(
      isNot((address) => CALL_PATHS[protocol]?.test(path(address)) === true),
      `the base address only, since the gateway adds ${adds}`,
    ),
    v.check(
      isNot((address) => path(address).endsWith("/v1/v1")),
      "an address with /v1 once",
    ),
    v.check(
      isNot((address) => protocol === "messages" && path(address).endsWith("/v1")),
      `an address without /v1, since the gateway adds ${adds}`,
    ),
    v.transform((address) => address.replace(/\/+$/, "")),
  );
}

/**
 * Base addresses by protocol, as the protocol's clients take them: Messages without `/v1`, the
 * others with `/v1`.
 */
export const baseAddresses = described(
  v.pipe(
    mapping({
      messages: v.exactOptional(baseOf("messages", "/v1/messages")),
      chat: v.exactOptional(baseOf("chat", "/chat/completions")),
      responses: v.exactOptional(baseOf("responses", "/responses")),
      images: v.exactOptional(baseOf("images", "/images/generations")),
      speech: v.exactOptional(baseOf("speech", "/audio/speech")),
    }),
    v.check((given) => Object.keys(given).length > 0, "at least one protocol"),
  ),
  "Base address by protocol; only these protocols are used.",
);

type BaseAddresses = v.InferOutput<typeof baseAddresses>;

export interface BaseAddress {
  readonly origin: string;
  /** The path, without a trailing slash. */
  readonly prefix: string;
}

export function protocolsOf(addresses: BaseAddresses): ReadonlySet<Protocol> {
  return new Set(basesOf(addresses).keys());
}

/** Splits the addresses once, for all calls. */
export function basesOf(addresses: BaseAddresses): ReadonlyMap<Protocol, BaseAddress> {
  const bases = new Map<Protocol, BaseAddress>();
  for (const [protocol, address] of Object.entries(addresses)) {
    const url = new URL(address);
    const prefix = url.pathname.replace(/\/+$/, "");
    bases.set(protocol as Protocol, { origin: url.origin, prefix });
  }
  return bases;
}
