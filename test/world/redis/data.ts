import type { RedisReply } from "./lua.ts";

interface Stream {
  readonly entries: Map<string, readonly string[]>;
  lastMs: number;
  lastSequence: number;
}

type Value = string | Map<string, string> | Set<string> | Stream;

/** The data of one server, and the commands that the gateway uses. */
export class RedisData {
  private readonly values: Map<string, Value>;
  private readonly expiries: Map<string, number>;

  constructor(values = new Map<string, Value>(), expiries = new Map<string, number>()) {
    this.values = values;
    this.expiries = expiries;
  }

  /** Returns a copy that later commands do not change. */
  snapshot(): RedisData {
    const values = new Map<string, Value>();
    for (const [key, value] of this.values) values.set(key, copyOf(value));
    return new RedisData(values, new Map(this.expiries));
  }

  keys(): string[] {
    return [...this.values.keys()];
  }

  hash(key: string): ReadonlyMap<string, string> {
    const value = this.values.get(key);
    return value instanceof Map ? value : NO_FIELDS;
  }

  /** Runs one command. Throws for a command that the gateway does not use. */
  run(name: string, args: readonly string[], nowMs: number): RedisReply {
    const command = COMMANDS[name];
    if (command === undefined) throw new Error(`the simulated Redis has no command ${name}`);
    const [key = ""] = args;
    const expiry = this.expiries.get(key);
    if (expiry !== undefined && expiry <= nowMs) this.remove(key);
    return command(this, key, args.slice(1), nowMs);
  }

  text(key: string): string | null {
    const value = this.values.get(key);
    return typeof value === "string" ? value : null;
  }

  /** Number of entries in all streams, which are uncommitted posts. */
  get streamEntries(): number {
    let count = 0;
    for (const key of this.values.keys()) count += this.stream(key)?.entries.size ?? 0;
    return count;
  }

  has(key: string): boolean {
    return this.values.has(key);
  }

  set(key: string, value: Value): void {
    this.values.set(key, value);
    this.expiries.delete(key);
  }

  remove(key: string): number {
    this.expiries.delete(key);
    return this.values.delete(key) ? 1 : 0;
  }

  /** Deletes a key, and returns a function that puts it into the data of another server, as `MIGRATE` does. */
  take(key: string): (data: RedisData) => void {
    const value = this.values.get(key);
    const expiry = this.expiries.get(key);
    this.remove(key);
    return (data) => {
      if (value === undefined) return;
      data.set(key, copyOf(value));
      if (expiry !== undefined) data.expire(key, expiry);
    };
  }

  expire(key: string, atMs: number): void {
    this.expiries.set(key, atMs);
  }

  expiry(key: string): number | undefined {
    return this.expiries.get(key);
  }

  fields(key: string): Map<string, string> {
    const value = this.values.get(key);
    if (value instanceof Map) return value;
    const made = new Map<string, string>();
    this.values.set(key, made);
    return made;
  }

  members(key: string): Set<string> {
    const value = this.values.get(key);
    if (value instanceof Set) return value;
    const made = new Set<string>();
    this.values.set(key, made);
    return made;
  }

  stream(key: string): Stream | undefined {
    const value = this.values.get(key);
    const isOther = typeof value === "string" || value instanceof Map || value instanceof Set;
    return isOther ? undefined : value;
  }

  /** Deletes empty hashes and sets, as Redis does. */
  dropEmpty(key: string): void {
    const value = this.values.get(key);
    if ((value instanceof Map || value instanceof Set) && value.size === 0) this.remove(key);
  }
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

function copyOf(value: Value): Value {
  if (typeof value === "string") return value;
  if (value instanceof Map) return new Map(value);
  if (value instanceof Set) return new Set(value);
  return { ...value, entries: new Map(value.entries) };
}

type Command = (data: RedisData, key: string, args: readonly string[], nowMs: number) => RedisReply;

/** Redis takes digits without a leading zero, and no `-0`. */
function integer(text: string): bigint {
  if (/^(?:0|-?[1-9]\d*)$/.test(text)) return BigInt(text);
  throw new Error("ERR value is not an integer or out of range");
}

const COMMANDS: Readonly<Record<string, Command>> = {
  GET: (data, key) => data.text(key),
  MGET: (data, key, others) => [key, ...others].map((each) => data.text(each)),
  SET(data, key, [value = "", option, ms], nowMs) {
    data.set(key, value);
    if (option === "PX") data.expire(key, nowMs + Number(ms));
    return "OK";
  },
  DEL: (data, key) => data.remove(key),
  UNLINK: (data, key) => data.remove(key),
  EXISTS: (data, key) => (data.has(key) ? 1 : 0),
  PEXPIRE(data, key, [ms, option], nowMs) {
    if (!data.has(key)) return 0;
    const atMs = nowMs + Number(ms);
    if (option === "LT" && (data.expiry(key) ?? Number.POSITIVE_INFINITY) <= atMs) return 0;
    data.expire(key, atMs);
    return 1;
  },
  HGET: (data, key, [field = ""]) => data.hash(key).get(field) ?? null,
  HMGET: (data, key, names) => names.map((field) => data.hash(key).get(field) ?? null),
  HEXISTS: (data, key, [field = ""]) => (data.hash(key).has(field) ? 1 : 0),
  HLEN: (data, key) => data.hash(key).size,
  HKEYS: (data, key) => [...data.hash(key).keys()],
  HVALS: (data, key) => [...data.hash(key).values()],
  HGETALL(data, key) {
    const flat: string[] = [];
    for (const [field, value] of data.hash(key)) flat.push(field, value);
    return flat;
  },
  HSET(data, key, args) {
    const fields = data.fields(key);
    let added = 0;
    for (let at = 0; at + 1 < args.length; at += 2) {
      const field = args[at] ?? "";
      if (!fields.has(field)) added += 1;
      fields.set(field, args[at + 1] ?? "");
    }
    return added;
  },
  HSETNX(data, key, [field = "", value = ""]) {
    const fields = data.fields(key);
    if (fields.has(field)) return 0;
    fields.set(field, value);
    return 1;
  },
  HINCRBY(data, key, [field = "", by = "0"]) {
    const fields = data.fields(key);
    const sum = integer(fields.get(field) ?? "0") + integer(by);
    fields.set(field, String(sum));
    return Number(sum);
  },
  HDEL(data, key, names) {
    if (data.hash(key).size === 0) return 0;
    const fields = data.fields(key);
    const removed = names.filter((field) => fields.delete(field)).length;
    data.dropEmpty(key);
    return removed;
  },
  HSCAN(data, key) {
    const pairs = [...data.hash(key)].filter(([field]) => field.endsWith("v"));
    return ["0", pairs.flat()];
  },
  SADD(data, key, members) {
    const set = data.members(key);
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  },
  SREM(data, key, members) {
    if (!data.has(key)) return 0;
    const set = data.members(key);
    const removed = members.filter((member) => set.delete(member)).length;
    data.dropEmpty(key);
    return removed;
  },
  SISMEMBER: (data, key, [member = ""]) => (data.has(key) && data.members(key).has(member) ? 1 : 0),
  XADD(data, key, [, ...fields], nowMs) {
    const stream = data.stream(key) ?? { entries: new Map(), lastMs: 0, lastSequence: 0 };
    const isLater = nowMs > stream.lastMs;
    stream.lastSequence = isLater ? 0 : stream.lastSequence + 1;
    if (isLater) stream.lastMs = nowMs;
    const id = `${stream.lastMs}-${stream.lastSequence}`;
    stream.entries.set(id, fields);
    if (!data.has(key)) data.set(key, stream);
    return id;
  },
  XLEN: (data, key) => data.stream(key)?.entries.size ?? 0,
  XDEL: (data, key, ids) => ids.filter((id) => data.stream(key)?.entries.delete(id)).length,
  XRANGE(data, key, [, , , count = "1000000"]) {
    const entries = [...(data.stream(key)?.entries ?? [])].slice(0, Number(count));
    return entries.map(([id, fields]) => [id, fields]);
  },
};

/** Commands that write; a replica refuses them. */
const WRITES = new Set([
  ...["SET", "DEL", "UNLINK", "PEXPIRE", "HSET", "HSETNX", "HINCRBY", "HDEL", "SADD", "SREM"],
  ...["XADD", "XDEL"],
]);
/** Write commands that a server at its `maxmemory` still accepts. */
const FREEING = new Set(["DEL", "UNLINK", "PEXPIRE", "HDEL", "SREM", "XDEL"]);

export const isWrite = (name: string): boolean => WRITES.has(name);
export const needsMemory = (name: string): boolean => WRITES.has(name) && !FREEING.has(name);
