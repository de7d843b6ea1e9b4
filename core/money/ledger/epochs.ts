import { type Sql, sqlState } from "../../database/client.ts";
import { type LedgerEpoch, type LedgerEpochs, MembershipEnded } from "../ledger-epochs.ts";
import type { StoredEntry } from "../outbox-entry.ts";

/** The SQLSTATE that `require_members` raises. */
const NOT_MEMBER = "TG002";

/** The epochs of the hold store: see `hold_epochs` and `hold_members` in the migrations. */
export class PostgresEpochs implements LedgerEpochs {
  constructor(private readonly sql: Sql) {}

  async read(bucket: string): Promise<LedgerEpoch> {
    const [row] = await this.sql.query<{
      readonly name: string | null;
      readonly is_restored: boolean | null;
      readonly members: Record<string, string> | null;
    }>(
      `select (select name from hold_epochs where bucket = $1) as name,
        (select is_restored from hold_epochs where bucket = $1) as is_restored,
        (select json_object_agg(gateway, epoch) from hold_members where bucket = $1) as members`,
      [bucket],
    );
    const { name, is_restored, members } = row ?? {};
    return {
      name: name ?? "",
      isRestored: is_restored ?? false,
      members: new Map(Object.entries(members ?? {})),
    };
  }

  async begin(bucket: string, before: string, name: string, isRestored: boolean): Promise<boolean> {
    const begun = await this.sql.query(
      `insert into hold_epochs (bucket, name, is_restored) values ($1, $3, $4)
      on conflict (bucket) do update
        set name = excluded.name, is_open = false,
          is_restored = excluded.is_restored or (hold_epochs.is_restored and not hold_epochs.is_open)
        where hold_epochs.name = $2
      returning name`,
      [bucket, before, name, isRestored],
    );
    return begun.length > 0;
  }

  async enter(bucket: string, name: string, gateway: string): Promise<boolean> {
    const [row] = await this.sql.query<{ readonly entered: boolean }>(
      "select enter_epoch($1, $2, $3) as entered",
      [bucket, name, gateway],
    );
    return row?.entered ?? false;
  }

  async leave(bucket: string, gateways: readonly string[]): Promise<void> {
    await this.sql.query(
      "delete from hold_members where bucket = $1 and gateway = any ($2::text::text[])",
      [bucket, textArray(gateways)],
    );
  }

  async open(bucket: string, name: string, removable: readonly string[]): Promise<boolean> {
    const [row] = await this.sql.query<{ readonly opened: boolean }>(
      "select open_epoch($1, $2, $3::text::text[]) as opened",
      [bucket, name, textArray(removable)],
    );
    return row?.opened ?? false;
  }
}

/** Returns the memberships under which these entries were read, as `require_members` takes them. */
export function membershipsOf(entries: readonly StoredEntry[]): string {
  return textArray([...new Set(entries.flatMap(({ membership }) => membership ?? []))]);
}

/** Returns the error of a commit that `require_members` refused as a `MembershipEnded`, and any other unchanged. */
export function fenced(error: unknown): unknown {
  return sqlState(error) === NOT_MEMBER ? new MembershipEnded({ cause: error }) : error;
}

/** The ids of gateways and epochs need no quotes in the text of an array. */
function textArray(values: readonly string[]): string {
  return `{${values.join(",")}}`;
}
