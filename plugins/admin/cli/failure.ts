/** How the command line ends; scripts rely on the numbers. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3 } as const;

/** Ends a command with a sentence on stderr that tells what to do next. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.name = "Failure";
    this.exitCode = exitCode;
  }
}
