-- works with: 0023-limits-in-charges
--
-- Days that are over, of accounts that have had more than four keys: a row for each month, model and key, with its days. The
-- rows of a day in `usage_daily` lie among those of all accounts, each in a page of its own: a year of one model by 100 keys is
-- 36,500 pages. Here it is 1,200 rows, those of a month side by side. They are written once a day, not by each commit.
create table usage_past_days (
  account_id uuid not null,
  -- Its first day, in Vietnam.
  month date not null,
  model text not null,
  key_id uuid not null,
  -- The days that have calls, and what each has. At most 31, so a row is below 1.4 KB.
  days date[] not null,
  calls bigint[] not null,
  input_tokens bigint[] not null,
  output_tokens bigint[] not null,
  charged bigint[] not null,
  primary key (account_id, month, model, key_id)
);
create index usage_past_days_of_model on usage_past_days (account_id, model, month);
create index usage_past_days_of_key on usage_past_days (account_id, key_id, month);

-- The days before this one are summed. A call that is committed late, for one of them, moves it back to the first day of the
-- month. Rows of `usage_past_days` with this month or a later one are out of date then.
alter table usage_of_many_keys add column summed_before date not null default '-infinity';

-- Sums the days of an account before `until`, from the month on that is not summed yet, or not all of it. Commits wait only for
-- the comparison at its end. If a call of these days was committed in between, the account stays as it was.
create function sum_past_days(account uuid, until date) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  begun date;
  summed bigint;
begin
  -- One process at a time.
  if not pg_try_advisory_xact_lock(hashtext('sum_past_days')) then
    return;
  end if;
  select date_trunc('month', summed_before::timestamp) into begun
    from usage_of_many_keys where account_id = account and summed_before < until;
  if not found then
    return;
  end if;
  delete from usage_past_days where account_id = account and month >= begun;
  with added as (
    insert into usage_past_days
    select
      account_id, date_trunc('month', day::timestamp)::date, model, key_id, array_agg(day order by day),
      array_agg(calls order by day), array_agg(input_tokens order by day),
      array_agg(output_tokens order by day), array_agg(charged order by day)
    from usage_daily where account_id = account and day >= begun and day < until
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    returning calls
  )
  select coalesce(sum(call), 0) into summed from added cross join lateral unnest(calls) call;
  -- Waits for running commits of this account. The next ones see how far its days are summed.
  perform from wallets where account_id = account for update;
  update usage_of_many_keys set summed_before = until
    where account_id = account and summed = (
      select coalesce(sum(calls), 0) from usage_daily_models
      where account_id = account and day >= begun and day < until
    );
end
$$;

-- As before, and late calls of days that are summed.
create or replace function count_usage() returns trigger
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
  with fresh as materialized (
    select
      account_id, (at at time zone 'Asia/Ho_Chi_Minh')::date as day, model, key_id, count(*) as calls,
      sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens,
      sum(charged)::bigint as charged, max(at) as last_at
    from recorded
    group by 1, 2, 3, 4
  ),
  of_many_keys as materialized (
    select fresh.*, summed_before from fresh join usage_of_many_keys using (account_id)
  ),
  late as (
    update usage_of_many_keys many set summed_before = date_trunc('month', first_day::timestamp)::date
    from (
      select account_id, min(day) as first_day from of_many_keys where day < summed_before group by 1
    ) late
    where many.account_id = late.account_id
  ),
  of_keys as (
    insert into usage_daily_keys as total (
      account_id, day, key_id, calls, input_tokens, output_tokens, charged, last_at
    )
    select
      account_id, day, key_id, sum(calls), sum(input_tokens), sum(output_tokens), sum(charged), max(last_at)
    from of_many_keys
    group by 1, 2, 3
    on conflict (account_id, day, key_id) do update set
      calls = total.calls + excluded.calls,
      input_tokens = total.input_tokens + excluded.input_tokens,
      output_tokens = total.output_tokens + excluded.output_tokens,
      charged = total.charged + excluded.charged,
      last_at = greatest(total.last_at, excluded.last_at)
  ),
  of_models as (
    insert into usage_daily_models as total (
      account_id, day, model, calls, input_tokens, output_tokens, charged
    )
    select account_id, day, model, sum(calls), sum(input_tokens), sum(output_tokens), sum(charged)
    from of_many_keys
    group by 1, 2, 3
    on conflict (account_id, day, model) do update set
      calls = total.calls + excluded.calls,
      input_tokens = total.input_tokens + excluded.input_tokens,
      output_tokens = total.output_tokens + excluded.output_tokens,
      charged = total.charged + excluded.charged
  )
  insert into usage_daily as total (
    account_id, day, model, key_id, calls, input_tokens, output_tokens, charged, last_at
  )
  select account_id, day, model, key_id, calls, input_tokens, output_tokens, charged, last_at from fresh
  order by 1, 2, 3, 4
  on conflict (account_id, day, model, key_id) do update set
    calls = total.calls + excluded.calls,
    input_tokens = total.input_tokens + excluded.input_tokens,
    output_tokens = total.output_tokens + excluded.output_tokens,
    charged = total.charged + excluded.charged,
    last_at = greatest(total.last_at, excluded.last_at);
  return null;
end
$$;
