import * as v from "valibot";
import type { Protocol } from "../../catalogue/endpoint.ts";
import { MESSAGES_VERSION } from "../../catalogue/endpoint.ts";
import type {
  OutgoingCall,
  OutgoingRequest,
  SettingsOf,
  UpstreamAdapter,
  UpstreamKind,
} from "../../plugin/upstream-kind.ts";
import type { JsonObject } from "../../process/json.ts";
import { described, matching, setting, some } from "../../process/options.ts";
import { type BaseAddress, baseAddresses, basesOf, protocolsOf } from "./addresses.ts";
import { extraHeaders } from "./extra-headers.ts";

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
  protocols: ({ protocols }) => protocols && protocolsOf(protocols),
  isConfigured: ({ keys }) => keys.length > 0,
  create: (given) => new HttpJson(given),
};

class HttpJson implements UpstreamAdapter {
  private readonly settings: Settings;
  private readonly bases: ReadonlyMap<Protocol, BaseAddress>;

  readonly keys: readonly string[];

  constructor(given: Settings) {
    this.settings = given;
    this.bases = basesOf(given.protocols);
    this.keys = given.keys;
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
