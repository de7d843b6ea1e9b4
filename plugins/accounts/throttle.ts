import { createHash } from "node:crypto";
import { type Clock, type Database, type Refusal, refuse } from "../../core/contract/index.ts";

/** So many at once after a quiet time, and one more every so often. */
interface Rate {
  readonly burst: number;
  readonly periodS: number;
}

const MINUTE_S = 60;
const HOUR_S = 3_600;

/** What is limited, and how much. Failed attempts count where a password is checked; elsewhere all do. */
const RATES = {
  /** Passwords tried for one account from one address. */
  password: { burst: 5, periodS: MINUTE_S },
  /** Passwords tried for one account, from anywhere. A whole network guesses 2,400 a day. */
  account: { burst: 100, periodS: HOUR_S / 100 },
  /** Requests that cost a hash or a look at a token, from one address: many customers may share one. */
  address: { burst: 60, periodS: 1 },
  signUp: { burst: 20, periodS: HOUR_S / 20 },
  /** Mails to one address, whoever asks for them. */
  mail: { burst: 3, periodS: 10 * MINUTE_S },
  /** Links sent again because somebody signed in too early. */
  reminder: { burst: 1, periodS: 10 * MINUTE_S },
  /** Keys made by one account, revoked ones included. */
  key: { burst: 30, periodS: HOUR_S / 60 },
} satisfies Record<string, Rate>;

const REFUSED_MAX = 10_000;
const REFUSED_MS = 1000;

/** What is attempted, and by whom or for whom. */
export type Attempt = readonly [what: keyof typeof RATES, subject: string];

/**
 * Limits on attempts, in the ledger's database: shared by all processes, and there after a restart. The rate
 * limiter of calls is no place for them, since it lets everything pass while Redis is away.
 */
export class Throttle {
  private readonly database: Database;
  private readonly clock: Clock;
  /** Who was refused, until when they need not be looked up: a flood costs the database one look a second. */
  private readonly refused = new Map<
    string,
    { readonly untilMs: number; readonly waitS: number }
  >();

  constructor(database: Database, clock: Clock) {
    this.database = database;
    this.clock = clock;
  }

  /** Takes one attempt out of each limit, or none where one of them is used up. */
  async take(...attempts: readonly Attempt[]): Promise<Refusal | undefined> {
    const who = JSON.stringify(attempts);
    const nowMs = this.clock.monotonic();
    const before = this.refused.get(who);
    if (before && nowMs < before.untilMs) return tooMany(before.waitS);
    this.refused.delete(who);
    const [row] = await this.database.query<{ wait: number }>(
      "select take_attempt($1::text::json, $2) as wait",
      [limitsOf(attempts), new Date(this.clock.now())],
    );
    const wait = row?.wait ?? 0;
    if (wait <= 0) return undefined;
    const waitS = Math.ceil(wait);
    if (this.refused.size >= REFUSED_MAX) this.refused.clear();
    const untilMs = nowMs + Math.min(wait * 1000, REFUSED_MS);
    this.refused.set(who, { untilMs, waitS });
    return tooMany(waitS);
  }

  /** The attempts were none: the password was right. */
  async giveBack(...attempts: readonly Attempt[]): Promise<void> {
    await this.database.query("select give_back_attempt($1::text::json)", [limitsOf(attempts)]);
  }
}

/** The limits of attempts as the functions of the database read them. */
function limitsOf(attempts: readonly Attempt[]): string {
  const limits = attempts.map(([what, subject]) => ({
    name: createHash("sha256").update(`${what} ${subject}`).digest("base64"),
    period: RATES[what].periodS,
    burst: RATES[what].burst,
  }));
  return JSON.stringify(limits);
}

function tooMany(waitS: number): Refusal {
  const message = `Too many attempts: try again in ${waitS} seconds.`;
  return refuse.rateLimited(message, {
    code: "too_many_attempts",
    headers: ["retry-after", String(waitS)],
  });
}
