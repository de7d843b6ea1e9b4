import { readAddress } from "../database/address.ts";
import type { Field } from "../plugin/plugin.ts";
import { hostsOverlap, isEverywhere, isLoopback } from "../plugin/public-host.ts";
import { isCoreSlot, type PluginSlotName } from "../plugin/slot.ts";
import { objectOf } from "../process/json.ts";
import { TOKEN_RULE } from "../process/secret-file.ts";
import { messageOf } from "../process/thrown.ts";
import type { PlacedPlugin } from "./plugins.ts";
import type { Path } from "./problem.ts";
import { admin, limits, listen, stores, unbilled } from "./schema.ts";
import type { Source } from "./source.ts";
import { attempt } from "./validate.ts";

const CHARACTERS_MIN = TOKEN_RULE.charactersMin(true);

/** The built-in plugin that sets a field or provides a slot. Error messages propose to add it. */
const USUAL: Readonly<Record<Field | PluginSlotName, string>> = {
  key: "auth",
  model: "alias",
  upstream: "translate",
  usage: "meter",
  purses: "a plugin that sets purses",
  hold: "settle",
  "guards.operator": "admin",
  "guards.customer": "accounts",
  operators: "operators",
  customers: "accounts",
  messages: "messages",
  modelNames: "alias",
  keySealer: "accounts",
  teamMembers: "teams",
  providerCosts: "report",
  discounts: "topup",
  counters: "a plugin that counts",
  gauges: "a plugin that measures",
  bodyMeasures: "a plugin that measures bodies",
};

/** The fields that charging needs. Core itself sets `model` and `upstream` if no plugin does. */
const BILLING: readonly Field[] = ["key", "usage", "hold"];
const DATABASE_PATH = "no path but the number of a database, such as /1";
const USUAL_ORDER = ["auth", "rate-limit", "alias", "translate", "meter", "settle"];

/**
 * Checks what no schema can: settings and plugins that depend on each other. Skips parts that are invalid by themselves.
 * `isWhole` is false if a plugin could not be loaded; then missing plugins are not reported.
 */
export function reviewConfig(
  source: Source,
  placed: readonly PlacedPlugin[],
  isWhole: boolean,
): void {
  const written = objectOf(source.value) ?? {};
  const address = attempt(listen, written["listen"]);
  const backends = attempt(stores, written["stores"]);
  const times = attempt(limits, written["limits"]);
  const operators = attempt(admin, written["admin"]);
  const isUnbilled = attempt(unbilled, written["unbilled"]) ?? false;
  const report = (path: Path, expected: string | undefined) => {
    if (expected !== undefined) source.report(path, `expected ${expected}`);
  };

  if (backends) {
    const { hot, ledger } = backends;
    const embedded = Object.entries({ hot, ledger }).flatMap(([name, store]) =>
      store === "embedded" ? [`stores.${name}`] : [],
    );
    if ((address?.workers ?? 1) > 1 && embedded.length > 0) {
      report(
        ["listen", "workers"],
        "1, since only one process can use an embedded store; for more workers, " +
          `set ${embedded.join(" and ")} to a URL`,
      );
    }
    const isList = Array.isArray(hot);
    for (const [at, server] of [hot].flat().entries()) {
      const path = server === "embedded" ? "" : new URL(server).pathname;
      if (isList ? path.length <= 1 : /^\/?\d*$/.test(path)) continue;
      const expected = isList ? "no path: a cluster has one database" : DATABASE_PATH;
      report(["stores", "hot", ...(isList ? [at] : [])], expected);
    }
    const fault = ledger === "embedded" ? undefined : faultOf(ledger);
    if (fault !== undefined) source.report(["stores", "ledger"], fault);
  }

  if (times) {
    for (const [name, least] of [
      ["bodies_mb", "body_mb"],
      ["unread_mb", "reply_mb"],
    ] as const) {
      if (times[name] < times[least])
        report(["limits", name], `at least ${least}, got a smaller number`);
    }
    for (const name of ["first_byte_seconds", "idle_seconds"] as const) {
      if ((times[name] ?? 0) > times.call_seconds)
        report(["limits", name], "at most call_seconds, got a larger number");
    }
  }

  if (address && operators) {
    const { token, listen: own } = operators;
    if (own && own.port === address.port && hostsOverlap(own.host, address.host)) {
      report(["admin", "listen", "port"], "another port than listen.port");
    }
    const isShort = token !== undefined && token.length < CHARACTERS_MIN;
    if (isShort && !isLoopback((own ?? address).host)) {
      const where = own ? "admin.listen.host" : "listen.host";
      report(
        ["admin", "token"],
        `at least ${CHARACTERS_MIN} characters, since other machines can reach ${where}`,
      );
    }
  }

  if (address) {
    for (const place of loopsTo(address, objectOf(written["upstreams"]) ?? {})) {
      report(place, "an address other than where this gateway listens");
    }
  }

  for (const { at, message } of misplaced(placed)) report(at, message);
  if (!isWhole || placed.length === 0) return;
  const sets = (field: Field) => placed.some(({ loaded }) => loaded.module.sets?.includes(field));
  const provides = (slot: PluginSlotName) =>
    placed.some(({ loaded }) => loaded.module.provides?.includes(slot));
  const missing = BILLING.filter((field) => !sets(field)).map((field) => USUAL[field]);
  if (isUnbilled) report(["unbilled"], fitForUnbilled(placed, sets("key"), address?.host));
  else if (missing.length > 0) report(["plugins"], toAdd(missing, placed));

  for (const { loaded, at } of placed) {
    const { requires = [], uses = [] } = loaded.module;
    const fields = isUnbilled ? requires.filter((field) => BILLING.includes(field)) : [];
    const lacking = fields.filter((field) => !sets(field)).map((field) => USUAL[field]);
    for (const slot of uses) {
      if (!isCoreSlot(slot) && !provides(slot)) lacking.push(USUAL[slot]);
    }
    if (lacking.length === 0) continue;
    const names = [...new Set(lacking)].join(", ");
    report(at, `${names} in the list of plugins too; this plugin needs it`);
  }

  if (objectOf(written["admin"])?.["token"] != null && !provides("guards.operator")) {
    report(
      ["admin", "token"],
      "the plugin admin, which checks this token; add it, or delete the token",
    );
  }
}

function faultOf(ledger: string): string | undefined {
  try {
    readAddress(ledger);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the places of upstreams that lead back to this gateway: each call would call itself until all connections are used. */
function loopsTo(
  { host, port }: { readonly host: string; readonly port: number },
  upstreams: Readonly<Record<string, unknown>>,
): Path[] {
  const places: Path[] = [];
  for (const [name, upstream] of Object.entries(upstreams)) {
    const protocols = objectOf(objectOf(upstream)?.["protocols"]) ?? {};
    for (const [protocol, given] of Object.entries(protocols)) {
      if (typeof given !== "string" || !URL.canParse(given)) continue;
      const url = new URL(given);
      const target = url.hostname.replace(/^\[|\]$/g, "");
      const portOfUrl = Number(url.port || (url.protocol === "https:" ? 443 : 80));
      // A gateway that listens on all addresses also listens on loopback.
      const isSame =
        target === host || (isLoopback(target) && (isEverywhere(host) || isLoopback(host)));
      if (portOfUrl === port && isSame) places.push(["upstreams", name, "protocols", protocol]);
    }
  }
  return places;
}

/** Returns what is expected so that calls can be served unbilled; undefined if they can. */
function fitForUnbilled(
  placed: readonly PlacedPlugin[],
  knowsCallers: boolean,
  host: string | undefined,
): string | undefined {
  const charging = placed.find(({ loaded }) => loaded.module.sets?.includes("hold"));
  if (charging) {
    return `no plugin that charges, got ${charging.loaded.name}; delete one of the two`;
  }
  if (knowsCallers || host === undefined || isLoopback(host)) return undefined;
  return (
    "auth in the list of plugins, or a loopback address as listen.host; without both, " +
    "everyone who can reach this address can use your upstream keys"
  );
}

function toAdd(missing: readonly string[], placed: readonly PlacedPlugin[]): string {
  const names = new Set([...missing, ...placed.map(({ loaded }) => loaded.name)]);
  const order = USUAL_ORDER.filter((name) => names.has(name)).join(", ");
  return (
    `${missing.join(", ")} too, which charging needs; ` +
    `add ${missing.map((name) => `"- ${name}"`).join(", ")} (the right order is ${order}), ` +
    "or set unbilled: true at the top level to serve calls free of charge"
  );
}

interface Pair {
  readonly first: PlacedPlugin;
  readonly second: PlacedPlugin;
  /** The field that `first` sets and `second` requires or takes; undefined if `second` names `first` in `after`. */
  readonly field: Field | undefined;
}

/** Returns a message for each plugin that comes before one that it needs. */
function misplaced(
  placed: readonly PlacedPlugin[],
): { readonly at: Path; readonly message: string }[] {
  const wrong = pairsOf(placed).filter(
    ({ first, second }) => placed.indexOf(first) > placed.indexOf(second),
  );
  return [...new Set(wrong.map(({ second }) => second))].map((second) => {
    const needs = new Set(wrong.filter((pair) => pair.second === second).map(reasonOf));
    return { at: second.at, message: `${nameOf(second)} after ${[...needs].join(", ")}` };
  });
}

const nameOf = ({ loaded }: PlacedPlugin) => loaded.name;

function reasonOf({ first, field }: Pair): string {
  return field === undefined ? nameOf(first) : `${nameOf(first)}, which sets ${field}`;
}

function pairsOf(placed: readonly PlacedPlugin[]): Pair[] {
  const pairs: Pair[] = [];
  for (const second of placed) {
    const { after = [], sets = [], takes = [] } = second.loaded.module;
    for (const first of placed) {
      if (first === second) continue;
      if (after.includes(nameOf(first))) pairs.push({ first, second, field: undefined });
      for (const field of [...requiredOf(second, placed), ...takes]) {
        const { module } = first.loaded;
        if (!module.sets?.includes(field)) continue;
        // Two plugins that both replace the value of a field may come in either order.
        if (sets.includes(field) && module.requires?.includes(field)) continue;
        pairs.push({ first, second, field });
      }
    }
  }
  return pairs;
}

/** Returns what a plugin requires. `upstream` implies `model` if no plugin sets `upstream`: core derives it. */
function requiredOf({ loaded }: PlacedPlugin, placed: readonly PlacedPlugin[]): readonly Field[] {
  const { requires = [] } = loaded.module;
  if (!requires.includes("upstream") || requires.includes("model")) return requires;
  const translated = placed.some((plugin) => plugin.loaded.module.sets?.includes("upstream"));
  return translated ? requires : [...requires, "model"];
}
