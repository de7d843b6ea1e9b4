/** Exit codes. Scripts rely on them. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3 } as const;

/** Ends a command with an exit code and a message on stderr. */
export class Failure extends Error {
  /** `error.code` of the gateway's reply, if it refused. */
  readonly code: string | undefined;

  constructor(
    readonly exitCode: number,
    message: string,
    code?: string,
  ) {
    super(message);
    this.name = "Failure";
    this.code = code;
  }
}
