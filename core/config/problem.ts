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

/**
 * The problems found so far. Keeps only the first one for each place, since later ones mostly follow from it: a missing
 * variable also leaves an invalid URL.
 */
export class Problems {
  private readonly byPlace = new Map<string, Problem>();

  add(file: string, line: number | undefined, path: Path, message: string): void {
    this.addAll([{ file, line, path: formatPath(path), message }]);
  }

  addAll(problems: readonly Problem[]): void {
    for (const problem of problems) {
      const place = `${problem.file}:${problem.line} ${problem.path}`;
      if (!this.byPlace.has(place)) this.byPlace.set(place, problem);
    }
  }

  get found(): boolean {
    return this.byPlace.size > 0;
  }

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
