import { randomBytes } from "node:crypto";
import type { Algorithm } from "@node-rs/argon2";

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = {
  algorithm: 2 satisfies Algorithm.Argon2id,
  memoryCost: 19_456,
  timeCost: 2,
  parallelism: 1,
};
/** Threads are shared with the file system, which the journal needs: never all four of them. */
const AT_ONCE = 2;
/** More than these would wait for seconds, and each holds a request. */
const WAITING_MAX = 64;

/**
 * Hashes passwords by argon2id and checks them. At most two at a time and 64 waiting, so that a flood of
 * sign-ins takes 38 MiB and a bounded delay; what is beyond that answers `busy`.
 */
export class Passwords {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  /** Nobody's password: what is checked where there is no account, so that the work tells nothing. */
  private readonly nobody = hashOfNothing();

  async hash(password: string): Promise<string | "busy"> {
    const { hash } = await argon2();
    return this.inTurn(() => hash(normal(password), PARAMETERS));
  }

  /** Takes the same work where there is no hash to check against. */
  async check(password: string, expected: string | undefined): Promise<boolean | "busy"> {
    const { verify } = await argon2();
    const against = expected ?? this.nobody;
    const isRight = await this.inTurn(() => verify(against, normal(password)));
    return isRight === "busy" ? isRight : isRight && expected !== undefined;
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T | "busy"> {
    if (this.running >= AT_ONCE) {
      if (this.waiting.length >= WAITING_MAX) return "busy";
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else this.running += 1;
    try {
      return await work();
    } finally {
      // Whoever waits takes over the place of this one.
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}

/** Loaded with the first password, since a gateway may never see one. */
function argon2(): Promise<typeof import("@node-rs/argon2")> {
  return import("@node-rs/argon2");
}

/** In the form of a hash with the usual parameters, and of no password: to check against it takes the usual work. */
function hashOfNothing(): string {
  const { memoryCost, timeCost, parallelism } = PARAMETERS;
  const text = (bytes: number) => randomBytes(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${text(16)}$${text(32)}`;
}

/** The same letters typed on another system may be other characters, in Vietnamese above all. */
function normal(password: string): string {
  return password.normalize("NFKC");
}
