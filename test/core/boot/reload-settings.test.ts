import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { changedSettings, inForce } from "../../../core/boot/plugins.ts";
import { type JsonObject, objectOf } from "../../../core/process/json.ts";
import { accepted, GATEWAY, swap } from "../config/files.ts";

/** Parts whose every setting takes effect as a whole: `inForce` passes them on, or keeps an equal one. */
const WHOLE = ["upstreams", "proxies", "catalogue", "plugins", "version", "sources"];

/** Every setting by its path, with a value that it does not have. */
function* otherValues(part: JsonObject, path: readonly string[] = []): Generator<Change> {
  for (const [name, value] of Object.entries(part)) {
    const at = [...path, name];
    if (path.length === 0 && WHOLE.includes(name)) continue;
    const inner = Array.isArray(value) ? undefined : objectOf(value);
    if (inner) yield* otherValues(inner, at);
    else yield [at, otherThan(value)];
  }
}

type Change = readonly [path: readonly string[], value: unknown];

function otherThan(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  return Array.isArray(value) ? [...value, "other"] : "other";
}

function set<T extends object>(config: T, [name = "", ...rest]: readonly string[], to: unknown): T {
  const inner = (config as JsonObject)[name];
  const value = rest.length === 0 ? to : set(objectOf(inner) ?? {}, rest, to);
  return { ...config, [name]: value };
}

function at(config: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((part, name) => objectOf(part)?.[name], config);
}

t.test(
  "each setting takes effect at a reload, or is named as one that needs a restart",
  async (t) => {
    const file = swap(GATEWAY, "stores: { ", "stores: { months_kept: 13, ");
    const running = await accepted(t, { "gateway.yaml": file });
    const changes = [...otherValues(running as unknown as JsonObject)];
    assert.ok(changes.length > 25, `${changes.length} settings`);
    for (const [path, value] of changes) {
      const given = set(running, path, value);
      const isApplied = isDeepStrictEqual(at(inForce(given, running), path), value);
      const named = changedSettings(given, running);
      t.not(isApplied, named.length === 1, `${path.join(".")} ${named.join(", ")}`);
    }
    for (const name of WHOLE) {
      const given = { ...running, [name]: { other: true } };
      t.strictSame(at(inForce(given, running), [name]), { other: true }, name);
    }
  },
);

t.test("months_kept can be set, changed and removed by a reload", async (t) => {
  const kept = async (stated: string) => {
    const file = swap(GATEWAY, "stores: { ", `stores: { ${stated}`);
    return accepted(t, { "gateway.yaml": file });
  };
  const [none, one, two] = [
    await kept(""),
    await kept("months_kept: 1, "),
    await kept("months_kept: 2, "),
  ];
  for (const [from, to] of [
    [none, one],
    [one, two],
    [two, none],
  ] as const) {
    t.equal(inForce(to, from).stores.monthsKept, to.stores.monthsKept);
    t.strictSame(changedSettings(to, from), []);
  }
  t.equal(inForce(one, one).stores, one.stores, "an equal part is the same object");
});
