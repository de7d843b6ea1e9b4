import * as v from "valibot";
import { described, mapping, url } from "../../contract/options.ts";
import type { Protocol } from "../../contract/protocol.ts";

const slashless = v.pipe(
  url(["http", "https"], "an http:// or https:// URL without a query"),
  v.transform((base) => base.replace(/\/+$/, "")),
);

/**
 * Base addresses by protocol, as the protocol's clients take them: Messages without `/v1`, the
 * others with `/v1`.
 */
export const baseAddresses = described(
  v.pipe(
    mapping({
      messages: v.exactOptional(slashless),
      chat: v.exactOptional(slashless),
      responses: v.exactOptional(slashless),
      images: v.exactOptional(slashless),
      speech: v.exactOptional(slashless),
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
