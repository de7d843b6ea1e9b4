#!/usr/bin/env node
/** `npm run admin -- COMMAND`: runs an operator's command against a running gateway. */
import { ask } from "./cli/ask.ts";
import { EXIT, Failure } from "./cli/failure.ts";
import { run } from "./cli/run.ts";

const COLUMNS_DEFAULT = 80;

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.refused);
});

try {
  // `process.exit` would cut off output that is still being written.
  process.exitCode = await run(process.argv.slice(2), {
    env: process.env,
    folder: process.cwd(),
    // On stderr, since stdout may be a file.
    ask: process.stdin.isTTY
      ? (question) => ask(question, { input: process.stdin, output: process.stderr })
      : undefined,
    // Some terminals do not know their width.
    columns: process.stdout.isTTY ? process.stdout.columns || COLUMNS_DEFAULT : undefined,
    write: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
  });
} catch (error) {
  const isExpected = error instanceof Failure;
  console.error(isExpected ? error.message : error);
  process.exitCode = isExpected ? error.exitCode : EXIT.refused;
}
