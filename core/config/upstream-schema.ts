import * as v from "valibot";
import type { Protocol } from "../catalogue/endpoint.ts";
import { features } from "../catalogue/features.ts";
import { profile } from "../catalogue/profile.ts";
import type { LoadedUpstream, UpstreamKind } from "../plugin/upstream-kind.ts";
import { isObject, type JsonObject, objectOf } from "../process/json.ts";
import {
  described,
  mapping,
  matching,
  named,
  oneOf,
  refusingLists,
  setting,
  url,
  whole,
} from "../process/options.ts";
import type { UpstreamKinds } from "../upstream/kinds/index.ts";
import { attempt, isSchema } from "./validate.ts";

/** A checked upstream. Without `connections`, `limits.calls_max` applies. */
type Checked = Omit<LoadedUpstream, "connections"> & {
  readonly connections: number | undefined;
  /** False if the upstream's keys were left empty: the upstream is then not used. */
  readonly isConfigured: boolean;
};

const PROXY = "the http:// or https:// address of a proxy, or none";

const common = {
  profile: setting(refusingLists(profile), "Features and limits of the provider's dialect.", {}),
  connections: setting(
    whole(1, 1_000_000),
    "Maximum connections at the same time. Default: limits.calls_max.",
  ),
  connection_seconds: setting(
    whole(1, 86_400),
    "Greatest age of a connection, in seconds; then it is closed after its call, and the name looked up again.",
    300,
  ),
  proxy: setting(
    v.union([v.literal("none"), url(["http", "https"], PROXY)], PROXY),
    "Proxy for connections to this upstream, with user and password if it needs them; none: a direct connection. Default: HTTPS_PROXY, except for the hosts of NO_PROXY.",
  ),
  first_byte_seconds: setting(
    whole(1, 86_400),
    "Longest wait for the first content of a stream, in seconds, if another key or route can serve the call. Default: 120; for models that reason by Chat without streams_reasoning in their profile, that of limits, unless a call asks for no reasoning.",
  ),
  reply_seconds: setting(
    whole(1, 86_400),
    "The same for a whole reply that is not streamed, and for an image. Default: none, as such a reply may rightly take minutes.",
  ),
  features: setting(
    features,
    "Features beyond plain tokens that calls may use, with their prices.",
    {},
  ),
};

/** Schema of `upstreams`: by name, each checked by the kind that it names. */
export function upstreamsSchema(kinds: UpstreamKinds) {
  const byName = new Map<unknown, v.GenericSchema<unknown, Checked>>(
    kinds.map((kind) => [kind.name, upstreamOf(kind, kinds)]),
  );
  const none = unknownKind(kinds);
  return byUpstreamName(v.lazy((given) => byName.get(kindNameOf(given, kinds)) ?? none));
}

/** The same schema for editors, as a union of these kinds and of any that a plugin elsewhere may bring. */
export function upstreamsForEditors(kinds: UpstreamKinds) {
  const names = kinds.map(({ name }) => name).join("|");
  const brought = v.looseObject({ kind: v.pipe(v.string(), v.regex(otherThan(names))) });
  return byUpstreamName(v.union([...kinds.map((kind) => upstreamOf(kind, kinds)), brought]));
}

const otherThan = (names: string) => new RegExp(`^(?!(?:${names})$)${KIND_NAME.source.slice(1)}`);

/** Returns what is wrong with the export `upstreamKind` of a plugin's module; undefined if nothing is. */
export function faultOfKind(kind: unknown): string | undefined {
  const given = objectOf(kind) ?? {};
  const { name, protocols, create } = given;
  const settings = Object.entries(objectOf(given["settings"]) ?? { "": undefined });
  const reserved = settings.map(([key]) => key).find((key) => key === "kind" || key in common);
  if (reserved !== undefined) {
    return `expected an upstreamKind without the setting ${reserved}, which every upstream has`;
  }
  const isComplete =
    typeof name === "string" &&
    KIND_NAME.test(name) &&
    settings.every(([, schema]) => isSchema(schema)) &&
    typeof protocols === "function" &&
    typeof create === "function";
  return isComplete
    ? undefined
    : "expected an upstreamKind with a name, settings (a schema for each), protocols() and create()";
}

const KIND_NAME = /^[a-z][a-z0-9-]*$/;

/** Returns the protocols of an unchecked upstream, ignoring invalid settings; undefined if they cannot be known. */
export function protocolsWritten(
  upstream: unknown,
  kinds: UpstreamKinds,
): ReadonlySet<Protocol> | undefined {
  const name = kindNameOf(upstream, kinds);
  const kind = kinds.find((one) => one.name === name);
  if (!kind || !isObject(upstream)) return undefined;
  const sound: JsonObject = {};
  for (const [key, schema] of Object.entries(kind.settings)) {
    const value = schema.async ? undefined : attempt(schema, upstream[key]);
    if (value !== undefined) sound[key] = value;
  }
  return kind.protocols(sound);
}

function byUpstreamName<const T extends v.GenericSchema>(upstream: T) {
  return named(
    upstream,
    matching(/^[A-Za-z][A-Za-z0-9_-]*$/, "a name of letters, digits, - and _"),
    "a mapping by upstream name",
  );
}

function upstreamOf(kind: UpstreamKind, kinds: UpstreamKinds): v.GenericSchema<unknown, Checked> {
  return v.pipe(
    mapping({ kind: kindKey(kind, kinds), ...kind.settings, ...common }),
    v.transform((given): Checked => {
      const { kind: name, profile: stated, features, connections, proxy, ...rest } = given;
      const { connection_seconds, first_byte_seconds, reply_seconds, ...settings } = rest;
      const profile = { ...kind.profile, ...stated };
      return {
        ...{ kind: name, profile, features, connections, proxy },
        protocols: kind.protocols(settings) ?? new Set(),
        connectionAgeMs: connection_seconds * 1_000,
        firstByteMs: first_byte_seconds && first_byte_seconds * 1_000,
        replyMs: (reply_seconds ?? Number.POSITIVE_INFINITY) * 1_000,
        isConfigured: kind.isConfigured?.(settings) ?? true,
        createAdapter: () => kind.create(settings),
      };
    }),
  );
}

function kindKey(kind: UpstreamKind, kinds: UpstreamKinds) {
  const key = described(oneOf([kind.name]), "How the gateway talks to the provider.");
  return kind === kinds[0] ? v.optional(key, kind.name) : key;
}

/** Reports only the kind, because the kind decides which other keys are valid. */
function unknownKind(kinds: UpstreamKinds): v.GenericSchema<unknown, Checked> {
  const expected = `one of ${kinds.map(({ name }) => name).join(", ")}`;
  return v.pipe(
    v.looseObject({ kind: v.never(expected) }),
    v.transform((never) => never.kind),
  );
}

function kindNameOf(upstream: unknown, kinds: UpstreamKinds): unknown {
  const name = isObject(upstream) ? upstream["kind"] : undefined;
  return name === undefined || name === null ? kinds[0].name : name;
}
