import { EXIT, Failure } from "./failure.ts";

/** A line such as `NAME=value`, `NAME='a value'` or `NAME="a value"`, with blanks around it, which nothing reads. */
const LINE = /^\s*([A-Za-z_]\w*)=(?:'([^']*)'|"([^"]*)"|(.*?))\s*$/;
/** Characters that neither a shell nor systemd treats in a special way. */
const PLAIN = /^[\w@%+=:,./-]*$/;

/** Returns the variables of an environment file by their names. */
export function readVariables(text: string): Map<string, string> {
  return new Map(text.split("\n").flatMap((line) => variableIn(line) ?? []));
}

function variableIn(line: string): [[name: string, value: string]] | undefined {
  const [, name, single, double, plain = ""] = LINE.exec(line) ?? [];
  return name === undefined ? undefined : [[name, single ?? double ?? plain]];
}

/**
 * Returns the file with other values; lines whose values stay are as they were. Variables that it lacks go to its end. Shells,
 * systemd and Docker Compose read the lines alike. Throws a Failure for a value that they would not.
 */
export function writeVariables(file: string, values: ReadonlyMap<string, string>): string {
  const left = new Map(values);
  const lines = file.trimEnd().split("\n");
  const written = lines.map((line) => {
    const [[name, before]] = variableIn(line) ?? [[]];
    const value = name === undefined ? undefined : values.get(name);
    if (name === undefined || value === undefined) return line;
    left.delete(name);
    return value === before ? line : variable(name, value);
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
