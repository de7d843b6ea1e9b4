import { createHash } from "node:crypto";
import { type Refusal, refuse, type Services } from "../../core/plugin/index.ts";

/** Allows `burst` attempts at once, and one more every `periodS` seconds. */
interface Rate {
  readonly burst: number;
  readonly periodS: number;
}

const MINUTE_S = 60;
const HOUR_S = 3_600;

/** The limits. For passwords only failed attempts count; for the others all do. */
const RATES = {
  /** Wrong passwords for one account, from one address. */
  password: { burst: 5, periodS: MINUTE_S },
  /** Wrong passwords for one account, from all addresses: at most 2,400 guesses a day. */
  account: { burst: 100, periodS: HOUR_S / 100 },
  /** Wrong passwords for one account in a browser in which it has signed in before. */
  device: { burst: 5, periodS: MINUTE_S },
  /** Wrong codes of a second factor for one account, from all addresses: a guess is right once in 300,000 times. */
  code: { burst: 10, periodS: HOUR_S / 10 },
  /** Requests that cost a hash or a query, from one address. High, because many customers may share an address. */
  address: { burst: 60, periodS: 1 },
  /** Wrong invitation codes from one address. A right one counts until it is checked, and a class signs up at once. */
  invitation: { burst: 30, periodS: MINUTE_S },
  /** Sign-ups without an invitation from one address. */
  signUp: { burst: 20, periodS: HOUR_S / 20 },
  /** Mails to one address, from all requests. */
  mail: { burst: 3, periodS: 10 * MINUTE_S },
  /** Links sent again after a sign-in to an unverified account. */
  reminder: { burst: 1, periodS: 10 * MINUTE_S },
  /** Keys created by one account, including revoked ones. */
  key: { burst: 30, periodS: HOUR_S / 60 },
  /** Mails that a key was shown, for one key and browser. */
  shown: { burst: 1, periodS: 30 * 24 * HOUR_S },
} satisfies Record<string, Rate>;

const REFUSED_MAX = 10_000;
const REFUSED_MS = 1000;

/** A limit, and the account or address it is counted for. */
export type Attempt = readonly [what: keyof typeof RATES, subject: string];

/**
 * Limits attempts. The counts are in the ledger's database, so that all processes share them and a restart keeps them.
 * The rate limiter of calls is unsuitable: it allows everything while Redis is down.
 */
export class Throttle {
  /** Recent refusals, repeated for up to 1 s without a query: a flood costs the database one query a second. */
  private readonly refused = new Map<
    string,
    { readonly untilMs: number; readonly waitS: number }
  >();

  constructor(
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
  ) {}

  /** Counts one attempt against each limit. If one limit is used up, refuses and counts none. */
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

  /** Uncounts attempts, after a correct password. */
  async giveBack(...attempts: readonly Attempt[]): Promise<void> {
    await this.database.query("select give_back_attempt($1::text::json)", [limitsOf(attempts)]);
  }
}

/** Returns the limits as JSON, for the functions in the migrations. */
function limitsOf(attempts: readonly Attempt[]): string {
  const limits = attempts.map(([what, subject]) => ({
    name: createHash("sha256").update(`${what} ${subject}`).digest("base64"),
    period: RATES[what].periodS,
    burst: RATES[what].burst,
  }));
  return JSON.stringify(limits);
}

function tooMany(waitS: number): Refusal {
  const message = `Too many attempts; try again in ${waitS} seconds.`;
  return refuse.rateLimited(message, {
    code: "too_many_attempts",
    headers: ["retry-after", String(waitS)],
  });
}
