import type { Services } from "../../core/plugin/index.ts";
import { hashOf, newToken } from "../sign-in-parts/secret.ts";
import { invitationHashOf } from "./invitations.ts";
import type { Language } from "./options.ts";

type Account = Awaited<ReturnType<Services["accounts"]["search"]>>[number];

const HOUR_MS = 3_600_000;

/** How long the link in a mail is valid, by its purpose. */
const VALID_MS = { verify: 48 * HOUR_MS, reset: HOUR_MS };
/** An account whose address is not verified by then is deleted. */
const UNVERIFIED_MS = 7 * 24 * HOUR_MS;
const UNVERIFIED_AT_ONCE = 500;
type Purpose = keyof typeof VALID_MS;
/** How long the first link of an account that an operator made is valid. */
export const WELCOME_MS = 7 * 24 * HOUR_MS;

/** The fields of an account that sign-in needs. */
export interface Credentials {
  readonly accountId: string;
  readonly email: string;
  readonly status: Account["status"];
  /** The password's hash; null if an operator created the account and its owner has not set a password yet. */
  readonly passwordHash: string | null;
  readonly isEmailVerified: boolean;
  /** Null until a customer whose account an operator made has chosen one. */
  readonly language: Language | null;
  readonly discountBps: number;
  readonly createdAt: Date;
}

interface NewAccount {
  readonly accountId: string;
  readonly email: string;
  readonly passwordHash: string;
  readonly language: Language;
  /** True if the owner agreed to the operator's terms and privacy policy. */
  readonly hasAgreed: boolean;
  /** The code of an invitation; undefined if none is needed. */
  readonly invitation: string | undefined;
}

type Row = Pick<Credentials, "passwordHash" | "isEmailVerified" | "language">;

/** No account has this id. A sign-in with an unknown address looks it up, so that it takes as long as any other. */
export const NO_ACCOUNT = "00000000-0000-0000-0000-000000000000";

/** Stores password hashes, and the hashes of the tokens in mails. */
export class CredentialStore {
  constructor(
    private readonly accounts: Services["accounts"],
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
  ) {}

  async ofEmail(email: string): Promise<Credentials | undefined> {
    return this.of(await this.accounts.findByEmail(email));
  }

  async ofAccount(accountId: string): Promise<Credentials | undefined> {
    return this.of(await this.accounts.find(accountId));
  }

  /**
   * Makes an account whose address is not verified yet, and uses the invitation up, in one transaction.
   * `not_invited`: the invitation has ended, or has no use left.
   */
  async signUp(account: NewAccount): Promise<"created" | "email_taken" | "not_invited"> {
    const { accountId, email, passwordHash, language, hasAgreed, invitation } = account;
    const [row] = await this.database.query<{ result: "created" | "email_taken" | "not_invited" }>(
      "select sign_up($1, $2, $3, $4, $5, $6, $7) as result",
      [
        ...[accountId, email, passwordHash, language, this.now(), hasAgreed],
        invitation === undefined ? null : invitationHashOf(invitation),
      ],
    );
    return row?.result ?? "email_taken";
  }

  /** Sets the password of an account and marks its address as verified. */
  async put(accountId: string, passwordHash: string): Promise<void> {
    await this.database.query(
      `insert into account_credentials (account_id, password_hash, verified_at, changed_at)
      values ($1, $2, $3, $3)
      on conflict (account_id) do update set password_hash = $2, verified_at = $3, changed_at = $3`,
      [accountId, passwordHash, this.now()],
    );
  }

  /** Changes the address of an account. Ends all sessions, and the links that were mailed to the address before. */
  async changeEmail(
    accountId: string,
    email: string,
  ): Promise<"changed" | "email_taken" | "no_account"> {
    const [row] = await this.database.query<{ result: "changed" | "email_taken" | "no_account" }>(
      "select change_email($1, $2) as result",
      [accountId, email],
    );
    return row?.result ?? "no_account";
  }

  async setLanguage(accountId: string, language: Language): Promise<void> {
    await this.database.query(
      "update account_credentials set language = $2 where account_id = $1",
      [accountId, language],
    );
  }

  /** Creates the token for a link in a mail, and stores its hash. */
  async issue(
    accountId: string,
    purpose: Purpose,
    validMs: number = VALID_MS[purpose],
  ): Promise<string> {
    const token = newToken();
    const expiresAt = new Date(this.clock.now() + validMs);
    await this.database.query(
      `insert into account_tokens (token_hash, account_id, purpose, expires_at)
      values ($1, $2, $3, $4)`,
      [hashOf(token), accountId, purpose, expiresAt],
    );
    return token;
  }

  /** Returns true if a link to set a password was made for the account, and is still valid. */
  async hasResetLink(accountId: string): Promise<boolean> {
    const found = await this.database.query(
      "select from account_tokens where account_id = $1 and purpose = 'reset' and expires_at > $2 limit 1",
      [accountId, this.now()],
    );
    return found.length > 0;
  }

  /** Marks the address as verified. Opening the link twice is allowed. Returns false if there is no such token. */
  async verify(token: string): Promise<boolean> {
    const verified = await this.database.query(
      `update account_credentials credentials
      set verified_at = coalesce(credentials.verified_at, $2)
      from account_tokens token
      where token.token_hash = $1 and token.purpose = 'verify' and token.expires_at > $2
        and credentials.account_id = token.account_id
      returning credentials.account_id`,
      [hashOf(token), this.now()],
    );
    return verified.length > 0;
  }

  /** Returns the account that a link was mailed to; undefined if the link is not valid for this purpose. */
  async ofLink(token: string, purpose: Purpose): Promise<Credentials | undefined> {
    const [found] = await this.database.query<{ accountId: string }>(
      `select account_id as "accountId" from account_tokens
      where token_hash = $1 and purpose = $2 and expires_at > $3`,
      [hashOf(token), purpose, this.now()],
    );
    return found && this.ofAccount(found.accountId);
  }

  /**
   * Sets a password by token, and the language of the page if none is chosen yet. Returns the account id; undefined if the
   * token is invalid or already used.
   */
  async reset(
    token: string,
    passwordHash: string,
    language: Language | undefined,
  ): Promise<string | undefined> {
    const [row] = await this.database.query<{ owner: string | null }>(
      "select reset_password($1, $2, $3, $4) as owner",
      [hashOf(token), passwordHash, language ?? null, this.now()],
    );
    return row?.owner ?? undefined;
  }

  /** Changes the password and ends all other sessions. Returns false if it has changed since it was checked. */
  async change(
    accountId: string,
    checkedHash: string,
    passwordHash: string,
    sessionId: string,
  ): Promise<boolean> {
    const [row] = await this.database.query<{ changed: boolean }>(
      "select change_password($1, $2, $3, $4, $5) as changed",
      [accountId, checkedHash, passwordHash, sessionId, this.now()],
    );
    return row?.changed ?? false;
  }

  /** Deletes expired tokens, attempts that no longer count, and accounts that were never verified. */
  async sweep(): Promise<void> {
    await this.database.query("delete from account_tokens where expires_at <= $1", [this.now()]);
    await this.database.query("delete from account_throttles where arrival <= $1", [this.now()]);
    const before = new Date(this.clock.now() - UNVERIFIED_MS);
    await this.database.query("select delete_unverified($1, $2, $3)", [
      before,
      this.now(),
      UNVERIFIED_AT_ONCE,
    ]);
  }

  /** Queries even without an account, so that the response time does not reveal whether one exists. */
  private async of(account: Account | undefined): Promise<Credentials | undefined> {
    const [row] = await this.database.query<Row>(
      `select password_hash as "passwordHash", verified_at is not null as "isEmailVerified", language
      from account_credentials where account_id = $1`,
      [account?.id ?? NO_ACCOUNT],
    );
    if (account === undefined) return undefined;
    const { id: accountId, email, status, discountBps, createdAt } = account;
    const { passwordHash = null, isEmailVerified = false, language = null } = row ?? {};
    return {
      ...{ accountId, email, status, discountBps, createdAt },
      ...{ passwordHash, isEmailVerified, language },
    };
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}
