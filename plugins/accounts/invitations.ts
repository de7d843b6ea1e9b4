import { newId, type Services } from "../../core/plugin/index.ts";
import { hashOf } from "../sign-in-parts/secret.ts";
import { newTypedCode, plainCode } from "../sign-in-parts/typed-code.ts";

const PREFIX_CHARACTERS = 4;
/** An invitation is listed for this long after its end. */
const LISTED_MS = 30 * 24 * 3_600_000;

/** An invitation as operators see it, without its code. */
export interface Invitation {
  readonly id: string;
  /** The first characters of the code. */
  readonly prefix: string;
  readonly note: string | null;
  readonly usesLeft: number;
  readonly createdAt: Date;
  readonly endsAt: Date;
}

/** The codes with which people sign up while that takes an invitation. `CredentialStore.signUp` uses one up. */
export class Invitations {
  constructor(
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
  ) {}

  /** Creates an invitation for so many sign-ups. Its code is not stored, so this is the only time to show it. */
  async create(
    uses: number,
    endsAt: Date,
    note: string | null,
  ): Promise<Invitation & { readonly code: string }> {
    const createdAt = new Date(this.clock.now());
    const code = newTypedCode();
    const prefix = code.slice(0, PREFIX_CHARACTERS);
    const made = {
      id: newId(createdAt.getTime()),
      prefix,
      note,
      usesLeft: uses,
      createdAt,
      endsAt,
    };
    await this.database.query(
      `insert into account_invitations (id, code_hash, prefix, note, uses_left, created_at, ends_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
      [made.id, invitationHashOf(code), prefix, note, uses, createdAt, endsAt],
    );
    return { ...made, code };
  }

  /** Returns invitations, newest first. `before`: the id of the last one of the previous page. */
  list(limit: number, before: string | undefined): Promise<Invitation[]> {
    return this.database.query(
      `select id, prefix, note, uses_left as "usesLeft", created_at as "createdAt", ends_at as "endsAt"
      from account_invitations where $2::uuid is null or id < $2 order by id desc limit $1`,
      [limit, before ?? null],
    );
  }

  /** Returns false if there is no such invitation. */
  async revoke(id: string): Promise<boolean> {
    const revoked = await this.database.query(
      "delete from account_invitations where id = $1 returning id",
      [id],
    );
    return revoked.length > 0;
  }

  /** Returns true if a sign-up with this code would be accepted now. */
  async accepts(code: string): Promise<boolean> {
    const found = await this.database.query(
      "select from account_invitations where code_hash = $1 and uses_left > 0 and ends_at > $2",
      [invitationHashOf(code), new Date(this.clock.now())],
    );
    return found.length > 0;
  }

  /** Deletes invitations that ended 30 days ago. */
  async sweep(): Promise<void> {
    await this.database.query("delete from account_invitations where ends_at <= $1", [
      new Date(this.clock.now() - LISTED_MS),
    ]);
  }
}

/** Returns the hash of a code that the database stores. */
export function invitationHashOf(code: string): Buffer {
  return hashOf(`invitation ${plainCode(code)}`);
}
