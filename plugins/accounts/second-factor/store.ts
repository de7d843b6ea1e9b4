import { newId, type Services } from "../../../core/plugin/index.ts";
import { recoveryHashOf } from "../../sign-in-parts/recovery-codes.ts";
import type { SealedKey, SealedKeyRecord } from "../../sign-in-parts/sealed.ts";

/** A second factor that waits for its first code is void after this time. */
const PENDING_MS = 3_600_000;
const BATCH = 100;

/**
 * The second factor of an account. The secret is sealed, bound to the id of the second factor, as an API key is bound
 * to its id.
 */
export interface SecondFactor extends SealedKeyRecord {
  /** When the owner entered the first code; null if they have not done so yet. */
  readonly confirmedAt: Date | null;
}

const RECORD = `id as "keyId", account_id as "accountId", sealed, sealed_by as "sealedBy"`;

/** Stores second factors, and the hashes of recovery codes. */
export class SecondFactors {
  constructor(
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
  ) {}

  /** Returns the second factor that sign-in asks for; undefined if the account has none. */
  async ofAccount(accountId: string): Promise<SecondFactor | undefined> {
    const [found] = await this.database.query<SecondFactor>(
      `select ${RECORD}, confirmed_at as "confirmedAt" from account_second_factors
      where account_id = $1 and confirmed_at is not null`,
      [accountId],
    );
    return found;
  }

  /** Returns the second factor that waits for its first code. */
  async pendingOf(accountId: string): Promise<SecondFactor | undefined> {
    const [found] = await this.database.query<SecondFactor>(
      `select ${RECORD}, confirmed_at as "confirmedAt" from account_second_factors
      where account_id = $1 and confirmed_at is null and created_at > $2`,
      [accountId, new Date(this.clock.now() - PENDING_MS)],
    );
    return found;
  }

  newId(): string {
    return newId(this.clock.now());
  }

  /** Stores a second factor that waits for its first code. Returns false if the account has one already. */
  async begin(id: string, accountId: string, { sealed, sealedBy }: SealedKey): Promise<boolean> {
    const begun = await this.database.query(
      `insert into account_second_factors as old (id, account_id, sealed, sealed_by, created_at)
      values ($1, $2, $3, $4, $5)
      on conflict (account_id) do update
      set id = $1, sealed = $3, sealed_by = $4, created_at = $5, last_step = 0
      where old.confirmed_at is null
      returning id`,
      [id, accountId, sealed, sealedBy, this.now()],
    );
    return begun.length > 0;
  }

  /**
   * Switches a second factor on after its first code, and ends all other sessions. Returns false if it does not wait for
   * a first code any more.
   */
  async confirm(
    { keyId, accountId }: SecondFactor,
    step: number,
    codes: readonly string[],
    sessionId: string,
  ): Promise<boolean> {
    const [row] = await this.database.query<{ confirmed: boolean }>(
      "select confirm_second_factor($1, $2, $3, $4::text::json, $5, $6) as confirmed",
      [accountId, keyId, step, hashesOf(accountId, codes), sessionId, this.now()],
    );
    return row?.confirmed ?? false;
  }

  /** Uses up the code of a time step, and those before it. Returns false if it was used already. */
  async useStep(id: string, step: number): Promise<boolean> {
    const used = await this.database.query(
      "update account_second_factors set last_step = $2 where id = $1 and last_step < $2 returning id",
      [id, step],
    );
    return used.length > 0;
  }

  /** Uses up a recovery code. Returns false if the account has no such code. */
  async useRecoveryCode(accountId: string, code: string): Promise<boolean> {
    const used = await this.database.query(
      "delete from account_recovery_codes where code_hash = $1 and account_id = $2 returning code_hash",
      [recoveryHashOf(accountId, code), accountId],
    );
    return used.length > 0;
  }

  async replaceRecoveryCodes(accountId: string, codes: readonly string[]): Promise<void> {
    await this.database.query("select replace_recovery_codes($1, $2::text::json)", [
      accountId,
      hashesOf(accountId, codes),
    ]);
  }

  async recoveryCodesLeft(accountId: string): Promise<number> {
    const [row] = await this.database.query<{ left: number }>(
      `select count(*)::integer as "left" from account_recovery_codes where account_id = $1`,
      [accountId],
    );
    return row?.left ?? 0;
  }

  /** Switches the second factor of an account off. Returns false if it has none. */
  async drop(accountId: string): Promise<boolean> {
    const [row] = await this.database.query<{ dropped: boolean }>(
      "select drop_second_factor($1) as dropped",
      [accountId],
    );
    return row?.dropped ?? false;
  }

  /** Returns second factors that a master key other than `masterKey` has sealed, by id, from after the id `after`. */
  sealedByOthers(masterKey: string, after: string | undefined): Promise<SealedKeyRecord[]> {
    return this.database.query<SealedKeyRecord>(
      `select ${RECORD} from account_second_factors
      where sealed_by <> $1 and ($2::uuid is null or id > $2) order by id limit ${BATCH}`,
      [masterKey, after ?? null],
    );
  }

  /** Replaces a sealed secret if `sealedBy` still seals it. Returns false otherwise. */
  async reseal(id: string, sealedBy: string, next: SealedKey): Promise<boolean> {
    const resealed = await this.database.query(
      `update account_second_factors set sealed = $3, sealed_by = $4
      where id = $1 and sealed_by = $2 returning id`,
      [id, sealedBy, next.sealed, next.sealedBy],
    );
    return resealed.length > 0;
  }

  private now(): Date {
    return new Date(this.clock.now());
  }
}

/** Returns the hashes of recovery codes as JSON, for the functions in the migrations. */
function hashesOf(accountId: string, codes: readonly string[]): string {
  return JSON.stringify(codes.map((code) => recoveryHashOf(accountId, code).toString("base64")));
}
