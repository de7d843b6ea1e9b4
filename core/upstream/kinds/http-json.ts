import * as v from "valibot";
import { endpoints, MESSAGES_VERSION, PROTOCOLS, type Protocol } from "../../catalogue/endpoint.ts";
import type {
  OutgoingCall,
  OutgoingRequest,
  SettingsOf,
  UpstreamAdapter,
  UpstreamKind,
} from "../../plugin/upstream-kind.ts";
import type { JsonObject } from "../../process/json.ts";
import { described, mapping, matching, named, setting, some, url } from "../../process/options.ts";

/** Returns the schema of one protocol's base address, to which the gateway adds the paths of the protocol's calls. */
function baseOf(protocol: Protocol) {
  const paths = endpoints.filter((one) => one.protocol === protocol).map((one) => one.upstreamPath);
  const [adds = ""] = paths;
  // An address that ends like a call was copied from a provider's example of one.
  const ends = paths.map((given) => given.replace(/^\/v1/, ""));
  const fault = ({ port, username, password, pathname }: URL): string | undefined => {
    const path = pathname.replace(/\/+$/, "");
    if (port === "0") return "an address with a port from 1 to 65535";
    if (username !== "" || password !== "") {
      return "an address without a user and password, since they are not sent; keys go into `keys`";
    }
    if (ends.some((end) => path.endsWith(end))) {
      return `the base address only, since the gateway adds ${adds}`;
    }
    if (path.endsWith("/v1/v1")) return "an address with /v1 once";
    const isDoubled = protocol === "messages" && path.endsWith("/v1");
    return isDoubled ? `an address without /v1, since the gateway adds ${adds}` : undefined;
  };
  return v.pipe(
    url(["http", "https"], "an http:// or https:// URL without a query"),
    v.rawCheck(({ dataset, addIssue }) => {
      const isAddress = dataset.typed && URL.canParse(dataset.value);
      const message = isAddress ? fault(new URL(dataset.value)) : undefined;
      if (message !== undefined) addIssue({ message });
    }),
    v.transform((address) => address.replace(/\/+$/, "")),
  );
}

type OptionalBase = v.ExactOptionalSchema<ReturnType<typeof baseOf>, undefined>;

const baseByProtocol = Object.fromEntries(
  Object.keys(PROTOCOLS).map((name) => [name, v.exactOptional(baseOf(name as Protocol))]),
) as Record<Protocol, OptionalBase>;

/** Base addresses by protocol, as the protocol's clients take them: Messages without `/v1`, the others with `/v1`. */
const baseAddresses = described(
  v.pipe(
    mapping(baseByProtocol),
    v.check((given) => Object.keys(given).length > 0, "at least one protocol"),
  ),
  "Base address by protocol; only these protocols are used.",
);

type BaseAddresses = v.InferOutput<typeof baseAddresses>;

interface BaseAddress {
  readonly origin: string;
  /** The path, without a trailing slash. */
  readonly prefix: string;
}

/** Splits the addresses once, for all calls. */
function basesOf(addresses: BaseAddresses): ReadonlyMap<Protocol, BaseAddress> {
  const bases = new Map<Protocol, BaseAddress>();
  for (const [protocol, address] of Object.entries(addresses)) {
    const url = new URL(address);
    const prefix = url.pathname.replace(/\/+$/, "");
    bases.set(protocol as Protocol, { origin: url.origin, prefix });
  }
  return bases;
}

/** Headers that carry the key. Sent twice, most providers refuse the call. */
const CREDENTIALS = new Set(["authorization", "x-api-key"]);

/** Headers that the gateway or its HTTP client sets. With another value, no call gets out or no reply can be read. */
const FRAMING = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Schema of headers that an operator adds to every request to a provider. */
const extraHeaders = v.pipe(
  named(
    matching(/^[\t\x20-\x7e]*$/, "printable text on one line"),
    matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "a header name"),
    "a mapping by header name",
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    for (const [name, value] of Object.entries(dataset.value)) {
      const message = expectedInsteadOf(name.toLowerCase());
      if (message === undefined) continue;
      const item = { type: "object", origin: "key", input: dataset.value, key: name, value };
      addIssue({ message, path: [item as v.ObjectPathItem] });
    }
  }),
);

function expectedInsteadOf(name: string): string | undefined {
  if (CREDENTIALS.has(name)) {
    return "a header without a key: keys go into `keys`, and most providers refuse one that is sent twice";
  }
  if (FRAMING.has(name)) return "a header that the gateway does not set itself";
  return undefined;
}

const key = v.pipe(
  matching(/^[\x21-\x7e]*$/, "a key without spaces"),
  v.check((text) => !/^["'`<]/.test(text), "a key, without quotes or brackets around it"),
  v.check((text) => !/^\$\w+$/.test(text), `a key; \${NAME} reads it from a variable`),
);

const areUnique = (keys: readonly string[]) => new Set(keys).size === keys.length;

const settings = {
  protocols: baseAddresses,
  keys: described(
    v.pipe(
      some(key, "a list of at least one key"),
      v.check((keys) => areUnique(keys.filter((each) => each !== "")), "each key once"),
      v.transform((keys) => keys.filter((key) => key !== "")),
    ),
    "Keys of the provider, which share its calls. If all are empty, models that no other upstream serves are not offered.",
  ),
  headers: setting(extraHeaders, "Extra headers for every request.", {}),
};

type Settings = SettingsOf<typeof settings>;

/** The common form of these APIs: JSON or multipart by POST, with a key in a header. */
export const httpJson: UpstreamKind<typeof settings> = {
  name: "http-json",
  settings,
  protocols: ({ protocols }) => protocols && new Set(basesOf(protocols).keys()),
  isConfigured: ({ keys }) => keys.length > 0,
  create: (given) => new HttpJson(given),
};

class HttpJson implements UpstreamAdapter {
  private readonly bases: ReadonlyMap<Protocol, BaseAddress>;

  readonly keys: readonly string[];

  constructor(private readonly settings: Settings) {
    this.bases = basesOf(settings.protocols);
    this.keys = settings.keys;
  }

  request(call: OutgoingCall): OutgoingRequest | undefined {
    const { protocol, contentType, body } = call;
    const base = this.bases.get(protocol);
    if (!base) return undefined;
    const headers = protocol === "messages" ? ["anthropic-version", MESSAGES_VERSION] : [];
    for (const [name, value] of Object.entries(this.settings.headers)) headers.push(name, value);
    for (const part of call.headers) headers.push(part);
    headers.push("content-type", contentType);
    const path = base.prefix + call.path;
    return { protocol, origin: base.origin, path, headers, body: body.bytes() };
  }

  authorise({ protocol }: OutgoingRequest, _nowMs: number, key: string): string[] {
    return protocol === "messages" ? ["x-api-key", key] : ["authorization", `Bearer ${key}`];
  }

  hidden(): string[] {
    const { keys, headers } = this.settings;
    const origins = [...this.bases.values()].map(({ origin }) => origin);
    const hosts = origins.map((origin) => new URL(origin).host);
    return [...keys, ...Object.values(headers), ...origins, ...hosts];
  }

  describe(): JsonObject {
    return { protocols: this.settings.protocols };
  }
}
