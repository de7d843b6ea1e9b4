-- What each account used on each day of Vietnam (Asia/Ho_Chi_Minh), by model and key: so that totals are quick
-- to show however many calls there are. The record of a call and its part of the total are one statement,
-- whoever inserts it, and so the two always agree.
-- Rows of one account change only while its wallet is locked: batches wait for one another, but never in a circle.
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

create function count_usage() returns trigger
language plpgsql set plan_cache_mode = force_custom_plan as $$
begin
  insert into usage_daily as total (
    account_id, day, model, key_id, calls, input_tokens, output_tokens, charged, last_at
  )
  select
    account_id, (at at time zone 'Asia/Ho_Chi_Minh')::date, model, key_id,
    count(*), sum(input_tokens), sum(output_tokens), sum(charged), max(at)
  from recorded
  group by 1, 2, 3, 4
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

-- From here to the end of this migration no other process adds a record: none is missed, none counted twice.
lock table usage_records in share row exclusive mode;

insert into usage_daily (
  account_id, day, model, key_id, calls, input_tokens, output_tokens, charged, last_at
)
select
  account_id, (at at time zone 'Asia/Ho_Chi_Minh')::date, model, key_id,
  count(*), sum(input_tokens), sum(output_tokens), sum(charged), max(at)
from usage_records
group by 1, 2, 3, 4;

create trigger usage_records_counted
  after insert on usage_records
  referencing new table as recorded
  for each statement execute function count_usage();
