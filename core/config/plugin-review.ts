import type { Field } from "../plugin/plugin.ts";
import { isLoopback } from "../plugin/public-host.ts";
import { isCoreSlot, type PluginSlotName } from "../plugin/slot.ts";
import { objectOf } from "../process/json.ts";
import { misplaced, orderOf } from "./plugin-order.ts";
import type { PlacedPlugin } from "./plugins.ts";
import type { Problems } from "./problem.ts";
import { listen, unbilled as unbilledKey } from "./schema.ts";
import type { Source } from "./source.ts";
import { attempt } from "./validate.ts";

/** The built-in plugin that sets a field or provides a slot. Error messages propose to add it. */
const USUAL: Readonly<Record<Field | PluginSlotName, string>> = {
  key: "auth",
  model: "alias",
  upstream: "translate",
  usage: "meter",
  limits: "a plugin that sets limits",
  hold: "settle",
  "guards.operator": "admin",
  "guards.customer": "accounts",
  customers: "accounts",
  modelNames: "alias",
  keySealer: "accounts",
  discounts: "topup",
  counters: "a plugin that counts",
  gauges: "a plugin that measures",
  bodyMeasures: "a plugin that measures bodies",
};

/** The fields that charging needs. Core itself sets `model` and `upstream` if no plugin does. */
const BILLING: readonly Field[] = ["key", "usage", "hold"];
const USUAL_ORDER = ["auth", "rate-limit", "alias", "translate", "meter", "settle"];

/**
 * Checks the list of plugins as a whole: each comes after what it needs, and together they charge for calls.
 * `isWhole` is false if a plugin could not be loaded; then missing plugins are not reported.
 */
export function reviewPlugins(
  placed: readonly PlacedPlugin[],
  isWhole: boolean,
  written: Readonly<Record<string, unknown>>,
  source: Source,
  problems: Problems,
): void {
  for (const { at, message } of misplaced(placed)) problems.add(source, at, message);
  if (!isWhole || placed.length === 0) return;
  const unbilled = attempt(unbilledKey, written["unbilled"]) ?? false;
  const sets = (field: Field) => placed.some(({ loaded }) => loaded.module.sets?.includes(field));
  const provides = (slot: PluginSlotName) =>
    placed.some(({ loaded }) => loaded.module.provides?.includes(slot));

  if (unbilled) {
    const host = attempt(listen, written["listen"])?.host;
    const fault = unbilledFault(placed, sets("key"), host);
    if (fault !== undefined) problems.add(source, ["unbilled"], fault);
  } else {
    const missing = BILLING.filter((field) => !sets(field)).map((field) => USUAL[field]);
    if (missing.length > 0) problems.add(source, ["plugins"], toAdd(missing, placed));
  }

  for (const { loaded, at } of placed) {
    const { requires = [], uses = [] } = loaded.module;
    const fields = unbilled ? requires.filter((field) => BILLING.includes(field)) : [];
    const lacking = fields.filter((field) => !sets(field)).map((field) => USUAL[field]);
    for (const slot of uses) {
      if (!isCoreSlot(slot) && !provides(slot)) lacking.push(USUAL[slot]);
    }
    if (lacking.length === 0) continue;
    const names = [...new Set(lacking)].join(", ");
    problems.add(source, at, `expected ${names} in the list of plugins too; this plugin needs it`);
  }

  if (objectOf(written["admin"])?.["token"] != null && !provides("guards.operator")) {
    const message =
      "expected the plugin admin, which checks this token; add it, or delete the token";
    problems.add(source, ["admin", "token"], message);
  }
}

/** Returns why calls cannot be served unbilled with these plugins; undefined if they can. */
function unbilledFault(
  placed: readonly PlacedPlugin[],
  knowsCallers: boolean,
  host: string | undefined,
): string | undefined {
  const charging = placed.find(({ loaded }) => loaded.module.sets?.includes("hold"));
  if (charging) {
    return `expected no plugin that charges, got ${charging.loaded.name}; delete one of the two`;
  }
  if (knowsCallers || host === undefined || isLoopback(host)) return undefined;
  return (
    "expected auth in the list of plugins, or a loopback address as listen.host; without both, " +
    "everyone who can reach this address can use your upstream keys"
  );
}

function toAdd(missing: readonly string[], placed: readonly PlacedPlugin[]): string {
  const names = new Set([...missing, ...placed.map(({ loaded }) => loaded.name)]);
  const order = orderOf(USUAL_ORDER.filter((name) => names.has(name)));
  return (
    `expected ${missing.join(", ")} too, which charging needs; ` +
    `add ${missing.map((name) => `"- ${name}"`).join(", ")} (${order}), ` +
    "or set unbilled: true at the top level to serve calls free of charge"
  );
}
