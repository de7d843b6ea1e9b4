import type { FinalResults, Parser, Result } from "tap-parser";

/** The results of one test file. A test contains assertions; groups do not count. */
export interface FileResults {
  passed: number;
  failed: number;
  skipped: number;
  /** Names of the failed tests, each with its first failed assertion. */
  readonly failures: { readonly name: string; readonly why: string }[];
}

/**
 * Collects the results of a file while `parser` reads them; complete once its process has ended.
 */
export function resultsOf(parser: Parser): FileResults {
  const results: FileResults = { passed: 0, failed: 0, skipped: 0, failures: [] };
  follow(parser, [], results);
  return results;
}

function follow(parser: Parser, path: readonly string[], into: FileResults): void {
  const isFile = path.length === 0;
  let isGroup = isFile;
  let first: Result | undefined;
  const failedBefore = into.failed;
  parser.on("child", (child: Parser) => {
    isGroup = true;
    follow(child, [...path, child.name], into);
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
    into.failed++;
    into.failures.push({
      name: path.join(" > ") || "the file",
      why: first ? reasonOf(first) : "did not end",
    });
  });
}

function reasonOf({ name, diag }: Result): string {
  const { diff, found, wanted, at, stack, ...more } = Object(diag);
  const compared = diff ?? (found === undefined && wanted === undefined ? "" : { found, wanted });
  const rest = ["error", "message", "signal", "exitCode", "expired"].flatMap((field) =>
    more[field] === undefined ? [] : [`${field}: ${more[field]}`],
  );
  const where = stack ?? (at?.fileName ? `${at.fileName}:${at.lineNumber}` : "");
  const parts = [name, compared && text(compared), ...rest, where];
  return parts.filter(Boolean).join("\n").trimEnd();
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trimEnd() : JSON.stringify(value, null, 2);
}
