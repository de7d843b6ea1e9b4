import { newId, type Services } from "../../core/plugin/index.ts";
import { newRecoveryCodes, recoveryHashOf } from "../sign-in-parts/recovery-codes.ts";
import type { SealedKey, SealedKeyRecord } from "../sign-in-parts/sealed.ts";
import { hashOf, newToken } from "../sign-in-parts/secret.ts";
import type { Role } from "./role.ts";

/** How long the link of an invitation is valid. */
const LINK_MS = 3 * 24 * 3_600_000;
/** More than any shop has; each listing reads all. */
const PEOPLE_MAX = 1_000;

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly passwordHash: string | null;
  readonly hasFactor: boolean;
  readonly sealed: Uint8Array | null;
  readonly sealedBy: string | null;
  readonly linkEndsAt: Date | null;
  readonly madeAt: Date;
  readonly seenAt: Date | null;
}

const COLUMNS = `id, email, role, password_hash as "passwordHash", has_factor as "hasFactor", sealed,
  sealed_by as "sealedBy", link_ends_at as "linkEndsAt", made_at as "madeAt",
  (select max(seen_at) from operator_sessions where operator_id = operators.id) as "seenAt"`;

/** Stores operators: people with a role, a password and a second factor. */
export class People {
  private readonly database: Services["database"];
  private readonly clock: Services["clock"];

  constructor({ database, clock }: Services) {
    this.database = database;
    this.clock = clock;
  }

  list(): Promise<Person[]> {
    return this.database.query(
      `select ${COLUMNS} from operators where removed_at is null order by email limit ${PEOPLE_MAX}`,
    );
  }

  /** Returns the person with this e-mail address or id; undefined if there is none, or it was removed. */
  async find(who: string): Promise<Person | undefined> {
    const [found] = await this.database.query<Person>(
      `select ${COLUMNS} from operators where (email = $1 or id::text = $1) and removed_at is null`,
      [who.toLowerCase()],
    );
    return found;
  }

  async ofLink(token: string): Promise<Person | undefined> {
    const [found] = await this.database.query<Person>(
      `select ${COLUMNS} from operators where link_hash = $1 and link_ends_at > $2 and removed_at is null`,
      [hashOf(token), this.now()],
    );
    return found;
  }

  /** Returns the token of the link; undefined if there is an operator with this address. */
  async invite(email: string, role: Role): Promise<string | undefined> {
    const token = newToken();
    const made = await this.database.query(
      `insert into operators as old (id, email, role, link_hash, link_ends_at, made_at)
      select $1, $2, $3, $4, $5, $6 where (select count(*) from operators where removed_at is null) < ${PEOPLE_MAX}
      on conflict (email) do update
      set role = $3, link_hash = $4, link_ends_at = $5, made_at = $6, removed_at = null
      where old.removed_at is not null returning id`,
      [newId(this.clock.now()), email, role, hashOf(token), this.linkEnd(), this.now()],
    );
    return made.length > 0 ? token : undefined;
  }

  async setRole(id: string, role: Role): Promise<void> {
    await this.database.query("update operators set role = $2 where id = $1", [id, role]);
  }

  /** Takes password, second factor and sessions away. Returns the token of a new link. */
  async reset(id: string): Promise<string> {
    const token = newToken();
    await this.clear(id, "link_hash = $2, link_ends_at = $3", [hashOf(token), this.linkEnd()]);
    return token;
  }

  async remove(id: string): Promise<void> {
    await this.clear(id, "link_hash = null, link_ends_at = null, removed_at = $2", [this.now()]);
  }

  /** Stores the second factor that waits for its first code. */
  async setFactor(id: string, sealed: Uint8Array, sealedBy: string): Promise<void> {
    await this.database.query(
      "update operators set sealed = $2, sealed_by = $3 where id = $1 and not has_factor",
      [id, sealed, sealedBy],
    );
  }

  /** Returns second factors that another master key than `newest` seals, in the order of their ids. */
  sealedByOthers(newest: string, after: string | undefined): Promise<SealedKeyRecord[]> {
    return this.database.query<SealedKeyRecord>(
      `select id as "keyId", id as "accountId", sealed, sealed_by as "sealedBy" from operators
      where sealed_by <> $1 and removed_at is null and ($2::uuid is null or id > $2) order by id limit ${PEOPLE_MAX}`,
      [newest, after ?? null],
    );
  }

  /** Replaces a second factor if `sealedBy` still seals it. Returns false otherwise. */
  async reseal(id: string, sealedBy: string, next: SealedKey): Promise<boolean> {
    const resealed = await this.database.query(
      "update operators set sealed = $3, sealed_by = $4 where id = $1 and sealed_by = $2 returning id",
      [id, sealedBy, next.sealed, next.sealedBy],
    );
    return resealed.length > 0;
  }

  /**
   * Uses a link up: sets the password and the second factor `sealed`. Returns recovery codes; undefined if another request was
   * first, or the link was opened again, which makes another factor.
   */
  async join(
    link: string,
    passwordHash: string,
    step: number,
    sealed: Uint8Array | null,
  ): Promise<string[] | undefined> {
    const person = await this.ofLink(link);
    if (!person) return undefined;
    const codes = newRecoveryCodes();
    const hashes = codes.map((code) => recoveryHashOf(person.id, code).toString("base64"));
    const joined = await this.database.query(
      `with joined as (
        update operators set password_hash = $2, has_factor = true, last_step = $3, link_hash = null, link_ends_at = null
        where link_hash = $1 and link_ends_at > $4 and removed_at is null and sealed = $6 returning id
      )
      insert into operator_recovery_codes (code_hash, operator_id)
      select decode(code, 'base64'), joined.id from joined, json_array_elements_text($5::text::json) as code
      returning operator_id`,
      [hashOf(link), passwordHash, step, this.now(), JSON.stringify(hashes), sealed],
    );
    return joined.length > 0 ? codes : undefined;
  }

  /** Uses up the code of a time step, and those before it. Returns false if it was used already. */
  async useStep(id: string, step: number): Promise<boolean> {
    const used = await this.database.query(
      "update operators set last_step = $2 where id = $1 and last_step < $2 returning id",
      [id, step],
    );
    return used.length > 0;
  }

  async useRecoveryCode(id: string, code: string): Promise<boolean> {
    const used = await this.database.query(
      "delete from operator_recovery_codes where code_hash = $1 and operator_id = $2 returning code_hash",
      [recoveryHashOf(id, code), id],
    );
    return used.length > 0;
  }

  /** An owner without a second factor, for a gateway that people try. */
  async setDemo(email: string, passwordHash: string): Promise<void> {
    await this.database.query(
      `insert into operators as old (id, email, role, password_hash, made_at) values ($1, $2, 'owner', $3, $4)
      on conflict (email) do update set password_hash = $3 where not old.has_factor`,
      [newId(this.clock.now()), email, passwordHash, this.now()],
    );
  }

  private async clear(id: string, more: string, values: (Uint8Array | Date)[]): Promise<void> {
    await this.database.query(
      `with sessions as (delete from operator_sessions where operator_id = $1),
        codes as (delete from operator_recovery_codes where operator_id = $1)
      update operators set password_hash = null, sealed = null, sealed_by = null, has_factor = false, last_step = 0,
        ${more} where id = $1`,
      [id, ...values],
    );
  }

  private linkEnd(): Date {
    return new Date(this.clock.now() + LINK_MS);
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}
