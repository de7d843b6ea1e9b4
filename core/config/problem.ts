/** One error in a file, for the operator. Never contains a secret. */
export interface Problem {
  /** The path as the operator gave it, so that it can be opened from the working directory. */
  readonly file: string;
  /** The line, from 1; undefined if the file as a whole is at fault. */
  readonly line: number | undefined;
  /** For example `upstreams.main.keys[0]`; empty if the file as a whole is at fault. */
  readonly path: string;
  readonly message: string;
}

export type Path = readonly (string | number)[];

/** A file that can look up the line of a path. */
interface Located {
  readonly file: string;
  lineOf(path: Path): number | undefined;
}

export function placedAt(file: string, line: number | undefined): Located {
  return { file, lineOf: () => line };
}

/**
 * The problems found so far. Keeps only the first one for each place, since later ones mostly follow from it: a missing
 * variable also leaves an invalid URL.
 */
export class Problems {
  private readonly byPlace = new Map<string, Problem>();

  add(source: Located, path: Path, message: string): void {
    const { file } = source;
    const line = source.lineOf(path);
    const place = `${file}:${line} ${formatPath(path)}`;
    if (this.byPlace.has(place)) return;
    this.byPlace.set(place, { file, line, path: formatPath(path), message });
  }

  /** Adds problems that were found elsewhere. */
  addAll(problems: readonly Problem[]): void {
    for (const problem of problems)
      this.byPlace.set(`${problem.file}:${problem.line} ${problem.path}`, problem);
  }

  get found(): boolean {
    return this.byPlace.size > 0;
  }

  /** Returns the problems by file and line. */
  list(): Problem[] {
    const files = [...new Set([...this.byPlace.values()].map((problem) => problem.file))];
    return [...this.byPlace.values()].sort(
      (a, b) =>
        files.indexOf(a.file) - files.indexOf(b.file) ||
        (a.line ?? 0) - (b.line ?? 0) ||
        a.path.localeCompare(b.path, "en", { numeric: true }),
    );
  }
}

/** Formats `["plugins", 2, "rate-limit"]` as `plugins[2].rate-limit`. */
function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[\w-]+$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** Formats problems for the terminal, one per line: `file:line path: message`. */
export function formatProblems(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "1 error" : `${problems.length} errors`;
  const lines = problems.map(({ file, line, path, message }) => {
    const place = line === undefined ? file : `${file}:${line}`;
    return path === "" ? `  ${place}: ${message}` : `  ${place} ${path}: ${message}`;
  });
  return [`The configuration has ${count}:`, ...lines].join("\n");
}

/** A config file with its variables replaced, and the line of each value. */
export interface Source extends Located {
  readonly value: unknown;
  /** Returns a scalar as written in the file, before variables are replaced: safe to quote in a message. */
  writtenAt(path: Path): string;
}

/** Limits for aliases, which can expand a small file into a huge value. Real files stay far below them. */
export const DEPTH_MAX = 32;
export const NODES_MAX = 200_000;

const NOT_LATIN1 = /[^\0-\xff]/;

/**
 * Copies a text, with one byte per character if its characters allow it. V8 stores a whole file in two bytes per
 * character if one letter needs them, and every substring of it too. A single such model name then makes each
 * record, log line and request body that contains it two bytes wide, and slow to copy.
 */
export function oneByte(text: string): string {
  return NOT_LATIN1.test(text) ? text : Buffer.from(text, "latin1").toString("latin1");
}
