import { createInterface } from "node:readline/promises";
import { EXIT, Failure } from "./failure.ts";

interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Asks a person. Throws a Failure if the input ends before the reply, as at Ctrl-C and Ctrl-D. */
export async function ask(question: string, { input, output }: Terminal): Promise<string> {
  const terminal = createInterface({ input, output, terminal: true });
  const ended = new Promise<never>((_, reject) => {
    const failure = new Failure(EXIT.refused, "\nNothing has changed.");
    terminal.once("close", () => reject(failure));
  });
  try {
    return await Promise.race([terminal.question(question), ended]);
  } finally {
    terminal.close();
  }
}
