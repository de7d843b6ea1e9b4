import type { FinalResults, Parser, Result } from "tap-parser";

/** The results of one test file. A test contains assertions; groups do not count. */
export interface FileResults {
  /** Path in the folder of tests. */
  readonly path: string;
  passed: number;
  failed: number;
  skipped: number;
  /** Names of the failed tests, each with its first failed assertion. */
  readonly failures: { readonly name: string; readonly why: string }[];
}

/** The beginning of a comment that names the file whose tests follow, if a process runs several. */
export const FILE_BEGINS = "file: ";
/** The environment variable with the paths of the files of such a process. */
export const FILES_TOGETHER = "TOLLGATE_TEST_FILES";

/** Collects the results of the files of a process while `parser` reads its output. */
export class ProcessResults {
  private readonly waiting: string[];
  private current: FileResults;
  private hasFailed = false;
  private isCut = false;

  constructor(
    parser: Parser,
    paths: readonly string[],
    private readonly onFileEnd: (results: FileResults) => void,
  ) {
    const [first = "", ...waiting] = paths;
    this.waiting = waiting;
    this.current = emptyResults(first);
    const begin = `# ${FILE_BEGINS}`;
    parser.on("comment", (comment: string) => {
      if (comment.startsWith(begin)) this.begin(comment.slice(begin.length).trim());
    });
    parser.on("child", (child: Parser) => follow(child, [child.name], this.current));
    parser.on("assert", (result: Result) => {
      if (result.closingTestPoint) return;
      if (result.skip || result.todo) this.current.skipped++;
      else if (!result.ok) fail(this.current, [], reasonOf(result));
    });
    parser.on("complete", ({ ok }: FinalResults) => {
      this.isCut = !ok;
    });
  }

  /** To be called after the process has ended. `exit` is its signal or its status, undefined if that is 0. */
  end(exit: string | number | undefined): void {
    const isSignal = typeof exit === "string";
    // Without a failed test the process failed by itself: in a hook, by a timeout, or by its own end.
    if (isSignal || ((this.isCut || exit) && !this.isFailed)) {
      fail(this.current, [], exit ? `ended with ${exit}` : "did not end");
    }
    this.onFileEnd(this.current);
    for (const path of this.waiting) {
      const results = emptyResults(path);
      fail(results, [], "did not begin");
      this.onFileEnd(results);
    }
  }

  private get isFailed(): boolean {
    return this.hasFailed || this.current.failed > 0;
  }

  private begin(path: string): void {
    if (path === this.current.path) return;
    this.onFileEnd(this.current);
    this.hasFailed = this.isFailed;
    this.waiting.splice(this.waiting.indexOf(path), 1);
    this.current = emptyResults(path);
  }
}

function emptyResults(path: string): FileResults {
  return { path, passed: 0, failed: 0, skipped: 0, failures: [] };
}

function fail(results: FileResults, names: readonly string[], why: string): void {
  results.failed++;
  results.failures.push({ name: names.join(" > ") || "the file", why });
}

function follow(parser: Parser, names: readonly string[], into: FileResults): void {
  let isGroup = false;
  let first: Result | undefined;
  const failedBefore = into.failed;
  parser.on("child", (child: Parser) => {
    isGroup = true;
    follow(child, [...names, child.name], into);
  });
  parser.on("assert", (result: Result) => {
    if (result.closingTestPoint) return;
    if (result.skip || result.todo) into.skipped++;
    else if (!result.ok) first ??= result;
  });
  parser.on("complete", ({ ok }: FinalResults) => {
    if (ok && !isGroup) into.passed++;
    // A group without a failed test failed by itself: in a hook, or by a timeout.
    if (ok || (isGroup && !first && into.failed > failedBefore)) return;
    fail(into, names, first ? reasonOf(first) : "did not end");
  });
}

function reasonOf({ name, diag }: Result): string {
  const { diff, found, wanted, at, stack, cause, ...more } = Object(diag);
  const compared = diff ?? (found === undefined && wanted === undefined ? "" : { found, wanted });
  const rest = ["error", "message", "signal", "exitCode", "expired"].flatMap((field) =>
    more[field] === undefined ? [] : [`${field}: ${more[field]}`],
  );
  const where = stack ?? (at?.fileName ? `${at.fileName}:${at.lineNumber}` : "");
  if (cause?.message !== undefined) rest.push(`cause: ${cause.message}`);
  const parts = [name, compared && text(compared), ...rest, where];
  return parts.filter(Boolean).join("\n").trimEnd();
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
}
