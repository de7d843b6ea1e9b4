import {
  accountSuspended,
  type Customer,
  newId,
  type PlainRequest,
  type Refusal,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { hashOf, isCsrfToken, isSignedToken, newSignedToken } from "../sign-in-parts/secret.ts";
import { tokenIn } from "./cookie.ts";
import type { Options } from "./options.ts";
import { fromElsewhere } from "./own-page.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The last use of a session is written at most this often, so that most requests only read. */
const SEEN_EVERY_MS = 60_000;
/** Maximum sessions of one account. A new one replaces the oldest. */
const SESSIONS_MAX = 50;
/** A password or code that was given on this session is asked for again after this time. */
const PROVEN_MS = 15 * 60_000;
const AGENT_CHARACTERS_MAX = 200;

interface Session {
  readonly id: string;
  readonly createdAt: Date;
  readonly seenAt: Date;
  readonly remoteAddress: string;
  readonly userAgent: string;
}

interface Found {
  readonly sessionId: string;
  readonly accountId: string;
  readonly isEmailVerified: boolean;
  readonly seenAt: Date;
}

/** Customer sessions. The cookie has a random token; the database has only its hash. */
export class Sessions {
  private secret: Promise<Buffer> | undefined;

  constructor(
    private readonly accounts: Services["accounts"],
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
    private readonly options: Options,
  ) {}

  get maxAgeS(): number {
    return (this.options.session_days * DAY_MS) / 1000;
  }

  /**
   * Opens a session and returns its token; undefined if the password or the second factor has changed since they were
   * checked.
   */
  async open(
    accountId: string,
    checkedHash: string,
    checkedFactor: string | null,
    request: PlainRequest,
  ): Promise<string | undefined> {
    const token = newSignedToken(await this.macSecret());
    const now = this.clock.now();
    const [row] = await this.database.query<{ opened: boolean }>(
      "select open_session($1, $2, $3, $4, $5, $6, $7, $8, $9) as opened",
      [
        accountId,
        checkedHash,
        newId(now),
        hashOf(token),
        new Date(now),
        request.remoteAddress,
        agentOf(request),
        SESSIONS_MAX,
        checkedFactor,
      ],
    );
    return row?.opened ? token : undefined;
  }

  /**
   * Returns the signed-in customer of a request. A request that changes something must come from the gateway's own
   * pages, with the CSRF token.
   */
  async enter(request: PlainRequest, publicUrl: string): Promise<Customer | Refusal> {
    const isSecure = publicUrl.startsWith("https:");
    const token = tokenIn(request.headers["cookie"], isSecure);
    if (token === undefined) return notSignedIn();
    if (request.method !== "GET" && request.method !== "HEAD") {
      const elsewhere = fromElsewhere(request, publicUrl);
      if (elsewhere) return elsewhere;
      if (!isCsrfToken(request.headers["x-csrf-token"], token)) return noCsrfToken();
    }
    const found = await this.find(token);
    if (found === undefined) return notSignedIn();
    const account = await this.accounts.find(found.accountId);
    if (account === undefined) return notSignedIn();
    if (account.status !== "active") return notActive(account.status);
    const { accountId, isEmailVerified, sessionId } = found;
    return { accountId, email: account.email, isEmailVerified, sessionId };
  }

  /**
   * Ends the session of a request from the gateway's own pages. A suspended customer has no CSRF token, as the gateway
   * tells them nothing: their own page is enough.
   */
  async leave(request: PlainRequest, publicUrl: string): Promise<Refusal | undefined> {
    const elsewhere = fromElsewhere(request, publicUrl);
    if (elsewhere) return elsewhere;
    const token = tokenIn(request.headers["cookie"], publicUrl.startsWith("https:"));
    const found = token === undefined ? undefined : await this.find(token);
    if (token === undefined || found === undefined) return notSignedIn();
    const isActive = (await this.accounts.find(found.accountId))?.status === "active";
    if (isActive && !isCsrfToken(request.headers["x-csrf-token"], token)) return noCsrfToken();
    await this.database.query("delete from account_sessions where token_hash = $1", [
      hashOf(token),
    ]);
    return undefined;
  }

  /** Returns true if the owner has given the password or a code on this session lately. */
  async isProven(sessionId: string): Promise<boolean> {
    const since = new Date(this.clock.now() - PROVEN_MS);
    const found = await this.database.query(
      "select from account_sessions where id = $1 and proven_at > $2",
      [sessionId, since],
    );
    return found.length > 0;
  }

  /** Notes that the owner has given the password or a code on this session. */
  async prove(sessionId: string): Promise<void> {
    await this.database.query("update account_sessions set proven_at = $2 where id = $1", [
      sessionId,
      new Date(this.clock.now()),
    ]);
  }

  /** Returns the open sessions of an account, newest first. */
  list(accountId: string): Promise<Session[]> {
    return this.database.query(
      `select id, created_at as "createdAt", seen_at as "seenAt",
        remote_address as "remoteAddress", user_agent as "userAgent"
      from account_sessions where account_id = $1 and created_at > $2 and seen_at > $3
      order by created_at desc, id desc`,
      [accountId, ...this.bounds()],
    );
  }

  /** Ends a session. Returns false if the account has no such session. */
  async end(accountId: string, sessionId: string): Promise<boolean> {
    const ended = await this.database.query(
      "delete from account_sessions where account_id = $1 and id = $2 returning id",
      [accountId, sessionId],
    );
    return ended.length > 0;
  }

  async endAll(accountId: string): Promise<void> {
    await this.database.query("delete from account_sessions where account_id = $1", [accountId]);
  }

  /** Deletes expired sessions. */
  async sweep(): Promise<void> {
    await this.database.query(
      "delete from account_sessions where created_at <= $1 or seen_at <= $2",
      this.bounds(),
    );
  }

  private async find(token: string): Promise<Found | undefined> {
    if (!isSignedToken(token, await this.macSecret())) return undefined;
    const tokenHash = hashOf(token);
    const [found] = await this.database.query<Found>(
      `select session.id as "sessionId", session.account_id as "accountId",
        credentials.verified_at is not null as "isEmailVerified", session.seen_at as "seenAt"
      from account_sessions session
      join account_credentials credentials on credentials.account_id = session.account_id
      where session.token_hash = $1 and session.created_at > $2 and session.seen_at > $3`,
      [tokenHash, ...this.bounds()],
    );
    const now = this.clock.now();
    if (found && now - found.seenAt.getTime() > SEEN_EVERY_MS) {
      await this.database.query("update account_sessions set seen_at = $2 where token_hash = $1", [
        tokenHash,
        new Date(now),
      ]);
    }
    return found;
  }

  /** Returns the secret of the tokens' MACs, the same for every gateway of the ledger. Reads it once. */
  private macSecret(): Promise<Buffer> {
    this.secret ??= this.database
      .query<{ secret: Uint8Array }>("select secret from account_session_macs")
      .then(([row]) => {
        if (row) return Buffer.from(row.secret);
        throw new Error(
          "the ledger has no secret for sessions; restore the row of account_session_macs",
        );
      })
      .catch((error: unknown) => {
        this.secret = undefined;
        throw error;
      });
    return this.secret;
  }

  /** Returns the times since which a live session was opened, and was last used. */
  private bounds(): [Date, Date] {
    const now = this.clock.now();
    const { session_days, session_idle_hours } = this.options;
    return [new Date(now - session_days * DAY_MS), new Date(now - session_idle_hours * HOUR_MS)];
  }
}

/** Returns the user agent, at most 200 characters, printable ASCII only. */
export function agentOf(request: PlainRequest): string {
  const agent = request.headers["user-agent"] ?? "";
  return agent.replace(/[^\x20-\x7e]/g, "?").slice(0, AGENT_CHARACTERS_MAX);
}

/** Returns the refusal of a customer whose account an operator has suspended or closed. */
export function notActive(status: "suspended" | "closed"): Refusal {
  if (status === "suspended") return accountSuspended("account_suspended");
  return refuse.forbidden("This account is closed; write to support.", { code: "account_closed" });
}

function notSignedIn(): Refusal {
  return refuse.unauthenticated("Sign in first.", { code: "not_signed_in" });
}

function noCsrfToken(): Refusal {
  const message = "Send the header x-csrf-token with the csrf_token from GET /account/v1/me.";
  return refuse.forbidden(message, { code: "wrong_csrf_token" });
}
