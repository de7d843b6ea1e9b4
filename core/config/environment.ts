/** Environment variables by name, in the shape of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Expansion {
  /** The text with its variables replaced; the text as written if there are `faults`. */
  readonly text: string;
  /** Error messages. They name variables and never contain values. */
  readonly faults: readonly string[];
}

const VARIABLE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/**
 * Replaces the variables in a text. `${NAME}` must be set and not empty, `${NAME:-text}` falls back to the text,
 * and `$${` becomes `${`.
 */
export function expand(written: string, environment: Environment): Expansion {
  const faults: string[] = [];
  const text = written.replace(VARIABLE, (match: string, name?: string, fallback?: string) => {
    if (match === "$${") return "${";
    if (name === undefined) {
      faults.push(MALFORMED);
      return match;
    }
    const value = environment[name];
    if (value !== undefined && value !== "") return value;
    if (fallback !== undefined) return fallback;
    // Empty counts as missing: it is the same mistake, and an empty secret is worse than none.
    faults.push(`environment variable ${name} is ${value === undefined ? "not set" : "empty"}`);
    return match;
  });
  return { text: faults.length === 0 ? text : written, faults };
}

const MALFORMED =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how the file writes a variable.
  "expected ${NAME} or ${NAME:-default} with a name of letters, digits and _; $${ is a plain ${";
