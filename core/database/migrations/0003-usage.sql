-- Sums of usage, and refused calls: what pages show of an account, however many calls it has. The tables of core/usage.
--
-- Days are those of Vietnam (Asia/Ho_Chi_Minh). A record and its part of the sums are one statement, so the two always agree.
-- Rows of one account change only while its wallet is locked: batches wait for each other but never deadlock.

-- Sums by day, model and key.
create table usage_daily (
  account_id uuid not null,
  day date not null,
  model text not null,
  key_id uuid not null,
  calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  charged bigint not null,
  -- Start of the latest call.
  last_at timestamptz not null,
  primary key (account_id, day, model, key_id)
) with (fillfactor = 50);

-- Adds new records to the sums. Plans are made each time, as in `settle_calls`.
create function count_usage() returns trigger
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
  with fresh as materialized (
    select
      account_id, (at at time zone 'Asia/Ho_Chi_Minh')::date as day, model, key_id, count(*) as calls,
      sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens,
      sum(charged)::bigint as charged, max(at) as last_at
    from recorded
    group by 1, 2, 3, 4
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

create trigger usage_records_counted
  after insert on usage_records
  referencing new table as recorded
  for each statement execute function count_usage();

-- Refused calls -------------------------------------------------------------------------------------------------------

-- Calls that the gateway refused itself, such as for an empty wallet, so that a customer can see why calls failed.
-- Counts, not a row for each: a client that is refused tries again and again.
create table refused_calls (
  account_id uuid not null,
  day date not null,
  key_id uuid not null,
  status smallint not null,
  -- A code, the type of the error, or the field at fault.
  cause text not null check (length(cause) between 1 and 40),
  calls bigint not null,
  last_at timestamptz not null,
  primary key (account_id, day, key_id, status, cause)
) with (fillfactor = 50);

-- Each gateway deletes the counts of old days once a day.
create index refused_calls_day on refused_calls (day);

-- The last refused calls of each account, newest first, a fixed number of them.
create table last_refused_calls (
  account_id uuid primary key,
  calls jsonb not null
) with (fillfactor = 50);
