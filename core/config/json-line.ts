import { isObject, parseJson } from "../process/json.ts";
import { type Environment, expand } from "./environment.ts";
import { DEPTH_MAX, NODES_MAX, oneByte, type Path, type Problems, type Source } from "./problem.ts";

/**
 * Reads a file that is one line of JSON, exactly as `JSON.stringify` writes it, as programs write configs. Returns
 * undefined for any other file, which the YAML parser reads: loading that and parsing with it takes a sixth of a
 * gateway's start. The exact text shows that no key is there twice, which `JSON.parse` would not report.
 */
export function readJsonLine(
  file: string,
  text: string,
  environment: Environment,
  problems: Problems,
): Source | undefined {
  const written = text.startsWith("{") ? parseJson(text) : undefined;
  if (written === undefined || JSON.stringify(written) !== text.trimEnd()) return undefined;
  if (isTooMuch(written)) return undefined;
  return new JsonLine(file, written, environment, problems);
}

class JsonLine implements Source {
  readonly file: string;
  readonly value: unknown;
  private readonly written: unknown;
  private readonly environment: Environment;
  private readonly problems: Problems;

  constructor(file: string, written: unknown, environment: Environment, problems: Problems) {
    this.file = file;
    this.written = written;
    this.environment = environment;
    this.problems = problems;
    this.value = this.read(written, []);
  }

  lineOf(): number {
    return 1;
  }

  writtenAt(path: Path): string {
    const value = this.at(path);
    return typeof value === "object" ? "" : String(value).slice(0, 100);
  }

  private read(value: unknown, path: Path): unknown {
    if (typeof value === "string") {
      const { text, faults } = expand(value, this.environment);
      if (faults.length > 0) this.problems.add(this, path, faults.join("; "));
      return oneByte(text);
    }
    if (Array.isArray(value)) return value.map((item, at) => this.read(item, [...path, at]));
    if (!isObject(value)) return value;
    // `fromEntries` makes an own property of any key, `__proto__` included.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const name = oneByte(key);
        return [name, this.read(item, [...path, name])];
      }),
    );
  }

  private at(path: Path): unknown {
    let value: unknown = this.written;
    for (const step of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
      value = Reflect.get(value, step);
    }
    return value;
  }
}

function isTooMuch(value: unknown): boolean {
  let nodes = 0;
  const exceeds = (node: unknown, depth: number): boolean => {
    if (++nodes > NODES_MAX || depth > DEPTH_MAX) return true;
    if (typeof node !== "object" || node === null) return false;
    return Object.values(node).some((item) => exceeds(item, depth + 1));
  };
  return exceeds(value, 0);
}
