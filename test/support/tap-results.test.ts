import t from "tap";
import { Parser } from "tap-parser";
import { type FileResults, ProcessResults } from "./tap-results.ts";

const OUTPUT = `TAP version 14
# file: first.test.js
# Subtest: adds
    ok 1 - should be equal
    1..1
ok 1 - adds
# Subtest: a group
    # Subtest: inner
        not ok 1 - should be ok
          ---
          cause:
            message: other side closed
          ...
        1..1
    not ok 1 - inner
    1..1
not ok 2 - a group
# file: second.test.js
# Subtest: passes
    # a comment of a test: file: not a name
    ok 1 - should be equal
    1..1
ok 3 - passes
ok 4 - left out # SKIP
`;

const PATHS = ["first.test.js", "second.test.js", "third.test.js"];

function resultsOf(output: string, exit: string | number | undefined): FileResults[] {
  const files: FileResults[] = [];
  const parser = new Parser();
  const results = new ProcessResults(parser, PATHS, (file) => files.push(file));
  parser.end(output);
  results.end(exit);
  return files;
}

const counts = (files: readonly FileResults[]) =>
  files.map(({ path, passed, failed, skipped }) => [path, passed, failed, skipped]);

t.test("the results of files that ran in one process", async (t) => {
  t.test("stand at their files, with the names of the tests that failed", async (t) => {
    const files = resultsOf(`${OUTPUT}# file: third.test.js\n1..4\n`, 1);
    t.strictSame(counts(files), [
      ["first.test.js", 1, 1, 0],
      ["second.test.js", 1, 0, 1],
      ["third.test.js", 0, 0, 0],
    ]);
    t.match(files[0]?.failures, [
      { name: "a group > inner", why: /should be ok\ncause: other side closed/ },
    ]);
  });

  t.test("are failures for a file that the process did not begin", async (t) => {
    const files = resultsOf(OUTPUT, 1);
    t.strictSame(counts(files).at(-1), ["third.test.js", 0, 1, 0]);
    t.match(files.at(-1)?.failures, [{ name: "the file", why: "did not begin" }]);
  });

  t.test("are a failure for the file in which the process was killed", async (t) => {
    const files = resultsOf(OUTPUT, "SIGKILL");
    t.strictSame(counts(files).at(1), ["second.test.js", 1, 1, 1]);
    t.match(files[1]?.failures, [{ name: "the file", why: "ended with SIGKILL" }]);
  });

  t.test("are a failure if no test failed and the process did", async (t) => {
    const files = resultsOf(
      "# file: first.test.js\n# file: second.test.js\n# file: third.test.js\n1..0\n",
      7,
    );
    t.strictSame(counts(files).at(-1), ["third.test.js", 0, 1, 0]);
  });
});
