import { newId, type Services } from "../../core/plugin/index.ts";
import { hashOf, newToken } from "../sign-in-parts/secret.ts";
import type { Operator, Role } from "./role.ts";

const MINUTE_MS = 60_000;
/** A session ends after this time without a request, and at this age. */
const IDLE_MS = 30 * MINUTE_MS;
const AGE_MS = 12 * 60 * MINUTE_MS;
/** A password or code is asked for again after this time before money moves. */
const PROVEN_MS = 15 * MINUTE_MS;
/** The last use is written at most this often, so that most requests only read. */
const SEEN_EVERY_MS = MINUTE_MS;
/** An ended token is listed for this long. */
const LISTED_MS = 30 * 24 * 60 * MINUTE_MS;
export const TOKENS_MAX = 1_000;
const SESSION = "ops-";
const NAMED = "opt-";
const TOKEN = /^op[st]-[\w-]{43}$/;

/** The token of a program, without its text. */
export interface NamedToken {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly person: string;
  readonly madeAt: Date;
  readonly endsAt: Date;
  readonly revokedAt: Date | null;
}

/** An operator's name begins so if it is a named token; no address does. */
const NAMED_AS = "token ";

export function isNamedToken(name: string): boolean {
  return name.startsWith(NAMED_AS);
}

/** Sessions of people, and the named tokens of programs. The database has only hashes of both. */
export class Tokens {
  private readonly database: Services["database"];
  private readonly clock: Services["clock"];

  constructor({ database, clock }: Services) {
    this.database = database;
    this.clock = clock;
  }

  async operatorOf(token: string): Promise<Operator | undefined> {
    if (!TOKEN.test(token)) return undefined;
    return token.startsWith(SESSION) ? this.ofSession(token) : this.ofNamed(token);
  }

  /** Opens a session and returns its token; undefined if the password has changed since it was checked. */
  async open(operatorId: string, checkedHash: string): Promise<string | undefined> {
    const token = SESSION + newToken();
    const opened = await this.database.query(
      `insert into operator_sessions (token_hash, operator_id, created_at, seen_at, proven_at)
      select $1, id, $4, $4, $4 from operators where id = $2 and password_hash = $3 and removed_at is null
      returning operator_id`,
      [hashOf(token), operatorId, checkedHash, this.now()],
    );
    return opened.length > 0 ? token : undefined;
  }

  /** Notes that the person has given the password or a code on this session. */
  async prove(token: string): Promise<void> {
    await this.database.query("update operator_sessions set proven_at = $2 where token_hash = $1", [
      hashOf(token),
      this.now(),
    ]);
  }

  /** Ends a session. Returns false if there is none with this token. */
  async end(token: string): Promise<boolean> {
    const ended = await this.database.query(
      "delete from operator_sessions where token_hash = $1 returning operator_id",
      [hashOf(token)],
    );
    return ended.length > 0;
  }

  /** Makes a named token. Its text is not stored. Returns what is in the way if it is not made. */
  async create(name: string, role: Role, person: string, days: number) {
    const token = NAMED + newToken();
    const endsAt = new Date(this.clock.now() + days * 24 * 60 * MINUTE_MS);
    const id = newId(this.clock.now());
    await this.database.query(
      "update operator_tokens set revoked_at = ends_at where name = $1 and ends_at <= $2 and revoked_at is null",
      [name, this.now()],
    );
    const made = await this.database.query(
      `insert into operator_tokens (id, name, token_hash, role, person, made_at, ends_at)
      select $1, $2, $3, $4, $5, $6, $7
      where (select count(*) from operator_tokens where revoked_at is null and ends_at > $6) < ${TOKENS_MAX}
      on conflict do nothing returning id`,
      [id, name, hashOf(token), role, person, this.now(), endsAt],
    );
    if (made.length > 0) return { id, token, endsAt };
    const named = await this.database.query(
      "select from operator_tokens where name = $1 and revoked_at is null",
      [name],
    );
    return named.length > 0 ? "name_taken" : "tokens_full";
  }

  list(): Promise<NamedToken[]> {
    return this.database.query(
      `select id, name, role, person, made_at as "madeAt", ends_at as "endsAt", revoked_at as "revokedAt"
      from operator_tokens where coalesce(revoked_at, ends_at) > $1 order by id desc limit ${TOKENS_MAX}`,
      [new Date(this.clock.now() - LISTED_MS)],
    );
  }

  /** Returns the id of the revoked token; undefined if none in use has this name or id. */
  async revoke(which: string): Promise<string | undefined> {
    const [revoked] = await this.database.query<{ id: string }>(
      `update operator_tokens set revoked_at = $2 where (name = $1 or id::text = $1) and revoked_at is null
      returning id`,
      [which, this.now()],
    );
    return revoked?.id;
  }

  /** Revokes what a person who is no owner any more has made. Returns how many. */
  async revokeMadeBy(person: string): Promise<number> {
    const revoked = await this.database.query(
      "update operator_tokens set revoked_at = $2 where person = $1 and revoked_at is null returning id",
      [person, this.now()],
    );
    return revoked.length;
  }

  /** Returns how many tokens of a person are in use. */
  async madeBy(person: string): Promise<number> {
    const found = await this.database.query(
      "select from operator_tokens where person = $1 and revoked_at is null and ends_at > $2",
      [person, this.now()],
    );
    return found.length;
  }

  /** Deletes sessions that have ended. */
  async sweep(): Promise<void> {
    await this.database.query(
      "delete from operator_sessions where created_at <= $1 or seen_at <= $2",
      this.bounds(),
    );
  }

  private async ofSession(token: string): Promise<Operator | undefined> {
    const tokenHash = hashOf(token);
    const [found] = await this.database.query<{
      email: string;
      role: Role;
      seenAt: Date;
      provenAt: Date;
    }>(
      `select email, role, seen_at as "seenAt", proven_at as "provenAt"
      from operator_sessions join operators on operators.id = operator_id
      where token_hash = $1 and created_at > $2 and seen_at > $3 and removed_at is null`,
      [tokenHash, ...this.bounds()],
    );
    if (!found) return undefined;
    const now = this.clock.now();
    if (now - found.seenAt.getTime() > SEEN_EVERY_MS) {
      await this.database.query("update operator_sessions set seen_at = $2 where token_hash = $1", [
        tokenHash,
        this.now(),
      ]);
    }
    const { email, role, provenAt } = found;
    const needsProof = now - provenAt.getTime() > PROVEN_MS;
    return { name: email, role, person: email, needsProof };
  }

  private async ofNamed(token: string): Promise<Operator | undefined> {
    const [found] = await this.database.query<{ name: string; role: Role; person: string }>(
      "select name, role, person from operator_tokens where token_hash = $1 and ends_at > $2 and revoked_at is null",
      [hashOf(token), this.now()],
    );
    return found && { ...found, name: `${NAMED_AS}${found.name}` };
  }

  /** Returns the times since which a live session was opened, and was last used. */
  private bounds(): [Date, Date] {
    const now = this.clock.now();
    return [new Date(now - AGE_MS), new Date(now - IDLE_MS)];
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}
