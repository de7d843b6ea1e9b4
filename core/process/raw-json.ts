import { isObject, JSON_MAX, type JsonObject } from "./json.ts";

/**
 * Parts of a JSON text that may be written in another form than they came: numbers as `1.0`, `1e400`, `-0` or of more digits
 * than a parser keeps, and names that are numbers, which objects put first.
 */
const UNUSUAL = /\d{16}|[\d.]{17}|\d[eE]|\.\d*0(?!\d)|-0|"\d+"\s*:/;
/** Names of fields in the order in which they came, of objects that would put some of them first. */
const orders = new WeakMap<object, readonly string[]>();

/**
 * A number of a JSON text that a parser would change, as it came. `RawJson.write` writes it so; `JSON.stringify` writes the
 * nearest number.
 */
export class RawJson {
  constructor(readonly text: string) {}

  /**
   * Parses JSON and keeps numbers as they came, and the order of names: all that are below `path`, the names of fields from
   * the top, through lists. Returns undefined if the text has nothing to keep, or is not JSON of at most `JSON_MAX.levels`.
   */
  static parse(json: string, path: readonly string[] = []): unknown {
    if (!UNUSUAL.test(json)) return undefined;
    try {
      JSON.parse(json);
      return new Reader(json).value(path, 0);
    } catch {
      return undefined;
    }
  }

  /** Writes JSON, with numbers and the order of names as they came. */
  static write(value: unknown): string {
    isMet = false;
    const json = JSON.stringify(value);
    return isMet ? (written(value) ?? json) : json;
  }

  toJSON(): number {
    isMet = true;
    return Number(this.text);
  }
}

/** True once `JSON.stringify` has met a number that is to be written as it came. */
let isMet = false;

/** The nesting of values is bounded when they are read. Returns undefined for what JSON leaves out. */
function written(value: unknown): string | undefined {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => written(one) ?? "null").join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const order = orders.get(value);
  if (!order && "toJSON" in value) return JSON.stringify(value);
  const fields: string[] = [];
  for (const name of order ?? Object.keys(value)) {
    const json = written(value[name]);
    if (json !== undefined) fields.push(`${JSON.stringify(name)}:${json}`);
  }
  return `{${fields.join()}}`;
}

function keepOrder(object: JsonObject, names: readonly string[]): void {
  if (Object.hasOwn(object, "toJSON")) return;
  orders.set(object, names);
  const toJSON = () => {
    isMet = true;
    return object;
  };
  Object.defineProperty(object, "toJSON", { value: toJSON });
}

const WORD = /[^\s,\]}]+/y;
const SPACE = /\s*/y;

class Reader {
  private at = 0;

  constructor(private readonly json: string) {}

  /** `path`: undefined below a field that is not on it. */
  value(path: readonly string[] | undefined, level: number): unknown {
    if (level > JSON_MAX.levels) throw new RangeError("nested too deeply");
    this.take(SPACE);
    const first = this.json[this.at];
    if (first === '"') return this.string();
    if (first === "[") return this.list(path, level);
    if (first === "{") return this.object(path, level);
    const word = this.take(WORD);
    const value: unknown = JSON.parse(word);
    const isKept = path?.length === 0 && typeof value === "number" && String(value) !== word;
    return isKept ? new RawJson(word) : value;
  }

  private list(path: readonly string[] | undefined, level: number): unknown[] {
    const list: unknown[] = [];
    while (!this.ends("]")) list.push(this.value(path, level + 1));
    return list;
  }

  private object(path: readonly string[] | undefined, level: number): JsonObject {
    const isBelow = path?.length === 0;
    const rest = path?.slice(1);
    const object: JsonObject = {};
    const names = new Set<string>();
    while (!this.ends("}")) {
      this.take(SPACE);
      const name = this.string();
      this.take(SPACE);
      this.at++;
      const isOnPath = isBelow || name === path?.[0];
      const value = this.value(isOnPath ? rest : undefined, level + 1);
      if (isBelow) names.add(name);
      // An assignment would set the prototype.
      if (name === "__proto__") {
        const own = { value, writable: true, enumerable: true, configurable: true };
        Object.defineProperty(object, name, own);
      } else object[name] = value;
    }
    const order = [...names];
    if (Object.keys(object).some((name, at) => isBelow && name !== order[at])) {
      keepOrder(object, order);
    }
    return object;
  }

  /** Passes an opening bracket or a comma, or the closing bracket: then returns true. */
  private ends(bracket: string): boolean {
    this.take(SPACE);
    const isFirst = this.json[this.at] !== "," && this.json[this.at] !== bracket;
    this.at++;
    if (!isFirst) return this.json[this.at - 1] === bracket;
    this.take(SPACE);
    if (this.json[this.at] !== bracket) return false;
    this.at++;
    return true;
  }

  private string(): string {
    const from = this.at++;
    for (;;) {
      const quote = this.json.indexOf('"', this.at);
      let before = quote;
      while (this.json[before - 1] === "\\") before--;
      this.at = quote + 1;
      if ((quote - before) % 2 === 0) break;
    }
    const raw = this.json.slice(from, this.at);
    return raw.includes("\\") ? JSON.parse(raw) : raw.slice(1, -1);
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [text = ""] = pattern.exec(this.json) ?? [];
    this.at += text.length;
    return text;
  }
}
