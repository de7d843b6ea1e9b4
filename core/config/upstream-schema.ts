import * as v from "valibot";
import type { Protocol } from "../catalogue/endpoint.ts";
import { features } from "../catalogue/features.ts";
import { profile } from "../catalogue/profile.ts";
import { isObject, type JsonObject } from "../process/json.ts";
import { described, mapping, named, oneOf, refusingLists, whole } from "../process/options.ts";
import type { UpstreamKinds } from "../upstream/kinds/index.ts";
import type { LoadedUpstream, UpstreamKind } from "../upstream/kinds/kind.ts";
import { attempt } from "./validate.ts";

/** A checked upstream. Without `connections`, `limits.calls_max` applies. */
type Checked = Omit<LoadedUpstream, "connections"> & {
  readonly connections: number | undefined;
  /** False if the upstream's keys were left empty: the upstream is then not used. */
  readonly isConfigured: boolean;
};

/** The settings that all kinds of upstream share. */
const common = {
  profile: v.optional(
    described(refusingLists(profile), "Features and limits of the provider's dialect."),
    {},
  ),
  connections: v.optional(
    described(
      whole(1, 1_000_000),
      "Maximum connections at the same time. Default: limits.calls_max.",
    ),
  ),
  features: v.optional(
    described(features, "Features beyond plain tokens that calls may use, with their prices."),
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

/** The same schema for editors, as a union of all kinds. */
export function upstreamsForEditors(kinds: UpstreamKinds) {
  return byUpstreamName(v.union(kinds.map((kind) => upstreamOf(kind, kinds))));
}

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
    /^[A-Za-z][A-Za-z0-9_-]*$/,
    "a name of letters, digits, - and _",
    "a mapping by upstream name",
  );
}

function upstreamOf(kind: UpstreamKind, kinds: UpstreamKinds): v.GenericSchema<unknown, Checked> {
  return v.pipe(
    mapping({ kind: kindKey(kind, kinds), ...kind.settings, ...common }),
    v.transform(
      ({ kind: name, profile, features, connections, ...settings }): Checked => ({
        kind: name,
        protocols: kind.protocols(settings) ?? new Set(),
        profile,
        features,
        connections,
        isConfigured: kind.isConfigured?.(settings) ?? true,
        createAdapter: () => kind.create(settings),
      }),
    ),
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
