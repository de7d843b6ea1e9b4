/** One thing that is wrong in a file, for the eyes of the operator. Never holds a secret. */
export interface Problem {
  /** As the operator wrote it, so that it can be opened from where the gateway was started. */
  readonly file: string;
  /** From 1; undefined where the file as a whole is at fault. */
  readonly line: number | undefined;
  /** `upstreams.main.keys[0]`; empty where the file as a whole is at fault. */
  readonly path: string;
  readonly message: string;
}

export type Path = readonly (string | number)[];

/** A place in a file that a problem can point to. */
export interface Located {
  readonly file: string;
  lineOf(path: Path): number | undefined;
}

/**
 * Everything that was found wrong so far. A place keeps its first problem only: the later ones mostly
 * follow from it, as a missing variable leaves a value that is no URL either.
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

  get found(): boolean {
    return this.byPlace.size > 0;
  }

  /** In the order of the files and their lines. */
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

/** `["plugins", 2, "rate-limit"]` -> `plugins[2].rate-limit`. */
export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[\w-]+$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** The problems as an operator reads them at start: one a line, `file:line path: message`. */
export function formatProblems(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "1 error" : `${problems.length} errors`;
  const lines = problems.map(({ file, line, path, message }) => {
    const place = line === undefined ? file : `${file}:${line}`;
    return path === "" ? `  ${place}: ${message}` : `  ${place} ${path}: ${message}`;
  });
  return [`The configuration has ${count}:`, ...lines].join("\n");
}
