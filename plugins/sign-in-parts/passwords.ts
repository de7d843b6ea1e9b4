import { randomBytes } from "node:crypto";
import type { Algorithm } from "@node-rs/argon2";

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = {
  algorithm: 2 satisfies Algorithm.Argon2id,
  memoryCost: 19_456,
  timeCost: 2,
  parallelism: 1,
};
/**
 * Hashes that run at the same time. The thread pool has four threads, and the journal needs some of them for its files.
 */
const AT_ONCE = 2;
/** Maximum number of waiting requests. With more, a request would wait for seconds. */
const WAITING_MAX = 64;

/**
 * Hashes and checks passwords with argon2id. Runs two at a time and queues 64, so that a flood of sign-ins uses at most
 * 38 MiB and the delay is bounded. Returns "busy" if the queue is full.
 */
export class Passwords {
  /** For all plugins together: they share the thread pool. */
  private static running = 0;
  private static readonly waiting: (() => void)[] = [];
  /** Checked if there is no account, so that the response time does not reveal that. No password matches it. */
  private readonly dummyHash = hashOfNothing();

  async hash(password: string): Promise<string | "busy"> {
    const { hash } = await argon2();
    return this.inTurn(() => hash(normal(password), PARAMETERS));
  }

  /** Returns true if the password matches. Takes equally long if `expected` is undefined, then returns false. */
  async check(password: string, expected: string | undefined): Promise<boolean | "busy"> {
    const { verify } = await argon2();
    const against = expected ?? this.dummyHash;
    const isRight = await this.inTurn(() => verify(against, normal(password)));
    return isRight === "busy" ? isRight : isRight && expected !== undefined;
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T | "busy"> {
    if (Passwords.running >= AT_ONCE) {
      if (Passwords.waiting.length >= WAITING_MAX) return "busy";
      await new Promise<void>((resolve) => Passwords.waiting.push(resolve));
    } else Passwords.running += 1;
    try {
      return await work();
    } finally {
      // The next in the queue takes over this slot, so `running` stays.
      const next = Passwords.waiting.shift();
      if (next) next();
      else Passwords.running -= 1;
    }
  }
}

type Argon2 = typeof import("@node-rs/argon2");
let loaded: Promise<Argon2> | undefined;

/**
 * Loads the library with the first password: a gateway may never see one. Requests that wait for it go on in one turn,
 * so that a refusal never waits for a hash.
 */
function argon2(): Promise<Argon2> {
  loaded ??= import("@node-rs/argon2");
  return loaded;
}

/** Returns random text in the format of a hash. Checking against it takes as long as against a real one. */
function hashOfNothing(): string {
  const { memoryCost, timeCost, parallelism } = PARAMETERS;
  const text = (bytes: number) => randomBytes(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${text(16)}$${text(32)}`;
}

/** Normalises Unicode: systems encode the same typed letters differently, above all Vietnamese ones. */
function normal(password: string): string {
  return password.normalize("NFKC");
}
