import { randomUUID } from "node:crypto";
import { type Sql, sqlState } from "../../database/client.ts";
import type { Parameter } from "../../database/database.ts";
import {
  type LedgerHistory,
  type LedgerProgress,
  type LedgerState,
  LedgerWentBack,
} from "../ledger-history.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { type CommitCount, LedgerWriter } from "./writer.ts";

/** The SQLSTATE that `count_commit` raises if the ledger lost commits. */
const WENT_BACK = "TG001";

interface StateRow {
  readonly id: string;
  readonly generation: bigint;
  readonly counts: CountRow[] | null;
}

interface CountRow {
  readonly writer: string;
  readonly commits: bigint;
  readonly recent: boolean;
}

/** The commits of each writer, in `ledger_writers`: see `count_commit`. */
export class PostgresHistory implements LedgerHistory {
  private readonly writer = new LedgerWriter(randomUUID);

  constructor(private readonly sql: Sql) {}

  get confirmed(): LedgerProgress {
    return this.writer.confirmed;
  }

  enter(generation: number): void {
    this.writer.enter(generation);
  }

  /**
   * Runs a statement that commits money, and counts it in the same transaction. `after` is the call of a function that
   * runs between the two.
   */
  async commit<Row extends object>(
    statement: string,
    parameters: readonly Parameter[],
    after?: string,
  ): Promise<Row[]> {
    const first = parameters.length + 1;
    // The rows of `work` are read before the functions are called, so `work` has all its locks by then.
    const counted = `with work as materialized (${statement})
      select work.*, ${after === undefined ? "" : `${after}, `}
        count_commit($${first}, $${first + 1}) as counted
      from work`;
    const { rows } = await this.writer.run(async ({ writer, confirmed }) => {
      const rows = await this.query<Row & { readonly counted: CommitCount }>(counted, [
        ...parameters,
        writer,
        confirmed,
      ]);
      return { rows, counted: rows[0]?.counted };
    });
    return rows;
  }

  async read(writers: readonly string[]): Promise<LedgerState> {
    const [row] = await this.sql.query<StateRow>(
      `select (select id from ledger_identity) as id,
        coalesce(max(generation), 0)::bigint as generation,
        (
          select json_agg(json_build_object('writer', writer, 'commits', commits, 'recent', is_recent))
          from (
            select writer, commits,
              at > (select max(at) from ledger_writers) - interval '1 day' as is_recent
            from ledger_writers
          ) counts
          where is_recent or writer = any ($1::text::uuid[])
        ) as counts
      from ledger_generations`,
      [`{${writers.join(",")}}`],
    );
    const counts = row?.counts ?? [];
    return {
      id: row?.id ?? "",
      generation: Number(row?.generation ?? 0),
      commits: new Map(counts.map(({ writer, commits }) => [writer, Number(commits)])),
      recent: new Set(counts.filter(({ recent }) => recent).map(({ writer }) => writer)),
    };
  }

  async beginGeneration(after: number): Promise<void> {
    await this.sql.query("select begin_generation($1)", [after]);
  }

  async forgetOld(kept: readonly string[]): Promise<void> {
    const own = [...this.confirmed.commits.keys()];
    await this.sql.query(
      `with own as (
        update ledger_writers set at = now() where writer = any ($1::text::uuid[]) and at < now() - interval '1 hour'
      )
      delete from ledger_writers where writer <> all ($2::text::uuid[])
        and at < (select max(at) from ledger_writers) - interval '1 ms' * $3::float8`,
      [`{${own.join(",")}}`, `{${[...own, ...kept].join(",")}}`, LIFETIMES.writerKeptMs],
    );
  }

  private async query<Row extends object>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<Row[]> {
    try {
      return await this.sql.query<Row>(text, parameters);
    } catch (error) {
      throw sqlState(error) === WENT_BACK ? new LedgerWentBack({ cause: error }) : error;
    }
  }
}
