-- Sums over all accounts, for the operator's report. A gateway without the plugin report does not make them.
--
-- Each commit adds its calls in its own transaction, so the sums are those of the records, whatever is killed. Days are those
-- of Vietnam (Asia/Ho_Chi_Minh).

-- Sums by day, model and upstream ('' if a call has none). All commits write these few rows, so each takes a slot that no other
-- running commit has, and none waits for another. Nearly all rows are of the slot 0.
create table report_models (
  day date not null,
  model text not null,
  upstream text not null,
  slot smallint not null,
  calls bigint not null,
  failed_calls bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  images bigint not null,
  charged bigint not null,
  -- Calls whose cost is known, their charges, and their costs.
  costed_calls bigint not null,
  costed_charged bigint not null,
  provider_cost bigint not null,
  -- Calls that cost more than they brought, and the difference.
  below_cost_calls bigint not null,
  below_cost bigint not null,
  primary key (day, model, upstream, slot)
) with (fillfactor = 50);

-- Sums by account and key: of each month, under its first day, and of each day. A year has too many rows of days. Rows of one
-- account change only while its wallet is locked.
create table report_keys (
  is_month boolean not null,
  day date not null,
  account_id uuid not null,
  key_id uuid not null,
  calls bigint not null,
  failed_calls bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  images bigint not null,
  charged bigint not null,
  costed_calls bigint not null,
  costed_charged bigint not null,
  provider_cost bigint not null,
  below_cost_calls bigint not null,
  below_cost bigint not null,
  primary key (is_month, day, account_id, key_id)
) with (fillfactor = 50);

-- Both statements are made from one text: that of the trigger, whose plan is kept, and that which adds the calls so far.
do $do$
declare
  sums constant text[] := array[
    'calls', 'failed_calls', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'images', 'charged',
    'costed_calls', 'costed_charged', 'provider_cost', 'below_cost_calls', 'below_cost'
  ];
  added text;
  raised text;
  statement text;
begin
  select string_agg(format('sum(%1$s)::bigint as %1$s', name), ', '),
    string_agg(format('%1$s = total.%1$s + excluded.%1$s', name), ', ')
    into added, raised from unnest(sums) name;
  statement := format($statement$
    with call as materialized (
      select (at at time zone 'Asia/Ho_Chi_Minh')::date as day, model, coalesce(upstream, '') as upstream, account_id, key_id,
        1 as calls, (status <> 200 or outcome = 'broken')::integer as failed_calls,
        input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, images, charged,
        (provider_cost is not null)::integer as costed_calls,
        case when provider_cost is null then 0 else charged end as costed_charged,
        coalesce(provider_cost, 0) as provider_cost,
        (coalesce(provider_cost, 0) > charged)::integer as below_cost_calls,
        greatest(coalesce(provider_cost, 0) - charged, 0) as below_cost
      from %%1$s
    ),
    of_models as (
      insert into report_models as total (day, model, upstream, slot, %1$s)
      select day, model, upstream, own_slot, %2$s
      from call cross join (select %%2$s::smallint as own_slot) own
      group by 1, 2, 3, 4 order by 1, 2, 3
      on conflict (day, model, upstream, slot) do update set %3$s
    ),
    of_day as materialized (
      select day, account_id, key_id, %2$s from call group by 1, 2, 3
    )
    insert into report_keys as total (is_month, day, account_id, key_id, %1$s)
    select is_month, case when is_month then date_trunc('month', day)::date else day end as day, account_id, key_id, %2$s
    from of_day cross join (values (false), (true)) period (is_month)
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (is_month, day, account_id, key_id) do update set %3$s
  $statement$, array_to_string(sums, ', '), added, raised);

  execute format($function$
    create function count_report() returns trigger language plpgsql set plan_cache_mode = force_generic_plan as $$
    declare
      free_slot smallint := 0;
    begin
      -- The last slot is shared. Its rows are written in one order, so commits wait for each other but never deadlock.
      while free_slot < 15 and not pg_try_advisory_xact_lock(7305302, free_slot) loop
        free_slot := free_slot + 1;
      end loop;
      %s;
      return null;
    end
    $$
  $function$, format(statement, 'recorded', 'free_slot'));

  -- Its lock lets no commit pass until the calls so far are added.
  create trigger usage_records_reported
    after insert on usage_records
    referencing new table as recorded
    for each statement execute function count_report();
  execute format(statement, 'usage_records', '0');
end
$do$;
