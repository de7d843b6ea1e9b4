import * as v from "valibot";
import { endpoints, PROTOCOLS, type Protocol } from "../../catalogue/endpoint.ts";
import { described, mapping, url } from "../../process/options.ts";

/** Returns the schema of one protocol's base address, to which the gateway adds the paths of the protocol's calls. */
function baseOf(protocol: Protocol) {
  const paths = endpoints.filter((one) => one.protocol === protocol).map((one) => one.upstreamPath);
  const [adds = ""] = paths;
  // An address that ends like a call was copied from a provider's example of one.
  const ends = paths.map((given) => given.replace(/^\/v1/, ""));
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
      isNot((address) => ends.some((end) => path(address).endsWith(end))),
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

type OptionalBase = v.ExactOptionalSchema<ReturnType<typeof baseOf>, undefined>;

const baseByProtocol = Object.fromEntries(
  Object.keys(PROTOCOLS).map((name) => [name, v.exactOptional(baseOf(name as Protocol))]),
) as Record<Protocol, OptionalBase>;

/**
 * Base addresses by protocol, as the protocol's clients take them: Messages without `/v1`, the
 * others with `/v1`.
 */
export const baseAddresses = described(
  v.pipe(
    mapping(baseByProtocol),
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
