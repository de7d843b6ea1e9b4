import type { TestEvent } from "node:test/reporters";

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** The tests that failed: their file and name. */
  failures: { file: string; name: string }[];
  /** Milliseconds that the tests of each file took, one after the other. */
  fileMs: Record<string, number>;
}

/**
 * A reporter for node:test that writes how many tests passed, failed and were skipped, and how long each file
 * took; suites do not count.
 */
export default async function* countReporter(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string, void> {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0, failures: [], fileMs: {} };
  for await (const event of source) {
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const { file, name, nesting, details } = event.data;
    if (nesting === 0 && file) {
      counts.fileMs[file] = (counts.fileMs[file] ?? 0) + details.duration_ms;
    }
    if (details.type === "suite") continue;
    if (event.data.skip !== undefined || event.data.todo !== undefined) counts.skipped++;
    else if (event.type === "test:pass") counts.passed++;
    else {
      counts.failed++;
      counts.failures.push({ file: file ?? "", name });
    }
  }
  yield JSON.stringify(counts);
}
