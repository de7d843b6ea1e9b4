import { readFileSync, statSync } from "node:fs";
import { codeOf } from "../process/thrown.ts";

/** Environment variables by name, in the shape of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Expansion {
  /** The text with its variables replaced; the text as written if there are `faults`. */
  readonly text: string;
  /** Error messages. They name variables and never contain values. */
  readonly faults: readonly string[];
}

const VARIABLE = /\$\$\{|\$\{file:(\/[^}]+)\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;
const FILE_BYTES_MAX = 64 * 1024;

/**
 * Replaces the variables in a text. `${NAME}` must be set and not empty, `${NAME:-text}` falls back to the text,
 * `${file:/path}` is the content of a file without the line break at its end, and `$${` becomes `${`. Files are read
 * again at each reload, so that a secret can change without a restart.
 */
export function expand(written: string, environment: Environment): Expansion {
  const faults: string[] = [];
  const text = written.replace(VARIABLE, (match: string, ...groups: (string | undefined)[]) => {
    const [file, name, fallback] = groups;
    if (match === "$${") return "${";
    if (file !== undefined) {
      const { content, fault } = readSecret(file);
      if (fault !== undefined) faults.push(fault);
      return content ?? match;
    }
    if (name === undefined) {
      faults.push(MALFORMED);
      return match;
    }
    const value = environment[name];
    if (value !== undefined && value !== "") return value;
    if (fallback !== undefined) return fallback;
    // An empty variable counts as missing: it is the same mistake, and an empty secret is worse than none.
    faults.push(`environment variable ${name} is ${value === undefined ? "not set" : "empty"}`);
    return match;
  });
  return { text: faults.length === 0 ? text : written, faults };
}

/** Returns the names of the variables, and the paths of the files, that a text refers to. */
export function referencesIn(written: string): string[] {
  return Array.from(written.matchAll(VARIABLE), ([, file, name]) => file ?? name ?? "").filter(
    (reference) => reference !== "",
  );
}

const MALFORMED =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how the file writes a variable.
  "expected ${NAME} or ${NAME:-default} with a name of letters, digits and _, or ${file:/path}; $${ is a plain ${";

function readSecret(file: string): { readonly content?: string; readonly fault?: string } {
  try {
    if (statSync(file).size > FILE_BYTES_MAX) return { fault: `file ${file} is above 64 KB` };
    const content = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    return content === "" ? { fault: `file ${file} is empty` } : { content };
  } catch (error) {
    return { fault: `file ${file} cannot be read (${codeOf(error) ?? "unknown error"})` };
  }
}
