import type { Sql } from "../core/database/client.ts";

/** How many calls, of whom, and when. */
export interface UsageRows {
  /** Months as `2026-03`, the oldest first. */
  readonly months: readonly string[];
  /** Calls of one month: a quarter of them are the large account's. */
  readonly callsPerMonth: number;
  readonly smallAccounts: number;
}

/** SQL of the id of the large account, and of its key `n`. It has 100 keys and 40 models, some used far more than others. */
export const LARGE = "md5('account:0')::uuid";
export const keyOfLarge = (n: string) => `md5('key:0:' || ${n})::uuid`;
export const KEYS = 100;
export const MODELS = 40;
/** Key 0 calls the model 1 once an hour, although both are used all the time. */
export const SELDOM = { key: "0", model: "model-1" } as const;
/** Only the first calls of the first month have these. */
export const RARE = { key: "rare", model: "model-rare" } as const;
/** A model and a key that never fail. */
export const SOUND = { key: "2", model: "model-2" } as const;

const SMALL = "md5('account:' || small)::uuid";

/** Makes the accounts, with a wallet and a key each. */
export async function makeAccounts(sql: Sql, { smallAccounts }: UsageRows): Promise<void> {
  await sql.script(
    `insert into accounts (id, email)
      select md5('account:' || n)::uuid, 'customer' || n || '@example.com' from generate_series(0, ${smallAccounts}) n;
    insert into wallets (account_id)
      select md5('account:' || n)::uuid from generate_series(0, ${smallAccounts}) n;
    insert into api_keys (id, account_id, name, hash, prefix)
      select md5('key:' || n)::uuid, md5('account:' || n)::uuid, 'main', sha256(('key:' || n)::bytea), 'tg-' || n
      from generate_series(1, ${smallAccounts}) n;
    insert into api_keys (id, account_id, name, hash, prefix)
      select ${keyOfLarge("n")}, ${LARGE}, 'key ' || n, sha256(('key:0:' || n)::bytea), 'tg-0-' || n
      from (select generate_series(0, ${KEYS - 1})::text union select '${RARE.key}') keys (n);`,
    { isLong: true },
  );
}

/** Returns the name of the table with the records of a month. */
export function partitionOf(month: string): string {
  return `usage_records_${month.replace("-", "_")}`;
}

/**
 * Makes the partition of a month and fills it in one transaction, in the order of time: first the rows, then their
 * indexes, then the sums by day; months in their order. The large account calls all the time but on the days after the 28th,
 * in Vietnam as in UTC; a small one on four days of a month.
 */
export async function fillMonth(sql: Sql, rows: UsageRows, month: string): Promise<void> {
  const part = partitionOf(month);
  const calls = rows.callsPerMonth;
  const isFirst = month === rows.months[0];
  await sql.script(
    `select make_ledger_partition('${month}-01 00:00Z');
    create table ${part} (like usage_records including defaults including constraints);
    insert into ${part} (
      call_id, at, account_id, key_id, endpoint, model, upstream, input_tokens, cache_read_tokens,
      cache_write_tokens, output_tokens, reasoning_tokens, images, charged, written_off, discount_bps, latency_ms,
      first_byte_ms, status, streamed, outcome, estimated, unit, catalogue_version, unit_price
    )
    select
      (lpad(to_hex(ms), 12, '0') || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid,
      to_timestamp(ms / 1000.0), account, key, '/v1/messages', model, 'main', 300 + n % 4000, 0, 0, 60 + n % 900, 0, 0,
      1000000 + n % 7000, 0, 0, 900.5 + n % 5000, 300.25 + n % 500, status, n % 2 = 0,
      case status when 200 then 'complete' else 'failed' end, false, 'mtok', '0123abcd', 36000000000
    from (
      select n, ms, noise,
        case when is_large then ${LARGE} else ${SMALL} end as account,
        case when not is_large then md5('key:' || small)::uuid
          when is_rare then ${keyOfLarge(`'${RARE.key}'`)} else ${keyOfLarge("key_n")} end as key,
        case when is_large and is_rare then '${RARE.model}' else 'model-' || case
          when not is_large then (small + n % 2) % ${MODELS}
          when key_n = 0 and model_n = 1 and not is_seldom then 0 else model_n end end as model,
        (case when fails > 0.01 or (is_large and (model_n = 2 or key_n = 2)) then 200
          else (array[400, 429, 429, 429, 499, 500, 502, 503])[1 + floor(fails * 800)::int] end)::smallint as status
      from (
        select n, ms, md5(n::text || '${month}') as noise, n % 4 = 0 as is_large, ${isFirst} and n <= 80 as is_rare,
          n % (${calls} / 700) < 4 as is_seldom, random() as fails,
          floor(power(random(), 3) * ${KEYS})::int as key_n, floor(power(random(), 3) * ${MODELS})::int as model_n,
          1 + floor(random() * (${rows.smallAccounts} / 7))::int * 7
            + (extract(day from to_timestamp(ms / 1000.0))::int % 7) as small
        from (
          select n, ((extract(epoch from timestamptz '${month}-01 00:00Z') + n * (27.5 * 86400 / ${calls})) * 1000)::bigint
          from generate_series(1, ${calls}) n
        ) times (n, ms)
      ) drawn
    ) calls;
    do $$
    declare definition text;
    begin
      for definition in
        select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'usage_records'::regclass and not indisprimary
      loop
        execute regexp_replace(definition, 'INDEX \\S+ ON ONLY \\S+', 'INDEX ON ${part}');
      end loop;
    end $$;
    alter table ${part} add primary key (at, call_id);
    alter table ${part} add constraint in_month check (at >= '${month}-01 00:00Z'
      and at < timestamptz '${month}-01 00:00Z' + interval '28 days') not valid;
    insert into usage_daily as total (
      account_id, day, model, key_id, calls, input_tokens, output_tokens, charged, last_at
    )
    select account_id, (at at time zone 'Asia/Ho_Chi_Minh')::date, model, key_id,
      count(*), sum(input_tokens), sum(output_tokens), sum(charged), max(at)
    from ${part} group by 1, 2, 3, 4
    on conflict (account_id, day, model, key_id) do update set calls = total.calls + excluded.calls,
      input_tokens = total.input_tokens + excluded.input_tokens,
      output_tokens = total.output_tokens + excluded.output_tokens,
      charged = total.charged + excluded.charged, last_at = greatest(total.last_at, excluded.last_at);
    alter table usage_records attach partition ${part}
      for values from ('${month}-01 00:00Z') to (timestamptz '${month}-01 00:00Z' + interval '1 month');
    alter table ${part} drop constraint in_month;
    analyze ${part};`,
    { isLong: true },
  );
}
