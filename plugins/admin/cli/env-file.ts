import { EXIT, Failure } from "./failure.ts";

/** A line such as `NAME=value`, `NAME='a value'` or `NAME="a value"`. */
const LINE = /^([A-Z][A-Z0-9_]*)=(?:'([^']*)'|"([^"]*)"|(.*))$/;
/** Characters that neither a shell nor systemd treats in a special way. */
const PLAIN = /^[\w@%+=:,./-]*$/;

/** Returns the variables of an environment file by their names. */
export function readVariables(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, single, double, plain = ""] = LINE.exec(line) ?? [];
    if (name !== undefined) found.set(name, single ?? double ?? plain);
  }
  return found;
}

/**
 * Returns the template with other values. Variables that it lacks go to its end. Shells, systemd and Docker Compose read the
 * result alike. Throws a Failure for a value that they would not.
 */
export function writeVariables(template: string, values: ReadonlyMap<string, string>): string {
  const left = new Map(values);
  const lines = template.trimEnd().split("\n");
  const written = lines.map((line) => {
    const name = LINE.exec(line)?.[1];
    const value = name === undefined ? undefined : left.get(name);
    if (name === undefined || value === undefined) return line;
    left.delete(name);
    return variable(name, value);
  });
  const more = Array.from(left, ([name, value]) => variable(name, value));
  return `${[...written, ...more].join("\n")}\n`;
}

/** Returns the line of a variable. Throws a Failure for a value that shells and systemd read differently. */
export function variable(name: string, value: string): string {
  if (PLAIN.test(value)) return `${name}=${value}`;
  if (!/['\\\p{Cc}]/u.test(value)) return `${name}='${value}'`;
  throw new Failure(
    EXIT.usage,
    `${name}: shells and systemd read quotes, backslashes and control characters differently; choose a value without them`,
  );
}
