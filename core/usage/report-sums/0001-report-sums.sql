-- Sums over all accounts, for the operator's report. A gateway without the plugin report does not make them.
--
-- Each commit adds its calls in its own transaction, so the sums are those of the records, whatever is killed. Days are those
-- of Vietnam (Asia/Ho_Chi_Minh).

-- Tables and statements are made from one list of the sums. The statements of the trigger keep their plans.
do $do$
declare
  -- Costed: calls whose cost is known, their charges, and their costs. Below cost: calls that cost more than they brought, and
  -- the difference.
  sums constant text[] := array[
    'calls', 'failed_calls', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'images', 'charged',
    'costed_calls', 'costed_charged', 'provider_cost', 'below_cost_calls', 'below_cost'
  ];
  names constant text := array_to_string(sums, ', ');
  columns constant text := array_to_string(sums, ' bigint not null, ') || ' bigint not null';
  added text;
  raised text;
  calls constant text := $sql$
    select (at at time zone 'Asia/Ho_Chi_Minh')::date as day, model, coalesce(upstream, '') as upstream, account_id, key_id,
      1 as calls, (status <> 200 or outcome = 'broken')::integer as failed_calls,
      -- The sum of bigint is numeric, which is slow. Tokens stay far below 2^53.
      input_tokens::float8 as input_tokens, cache_read_tokens::float8 as cache_read_tokens,
      cache_write_tokens::float8 as cache_write_tokens, output_tokens::float8 as output_tokens, images, charged,
      (provider_cost is not null)::integer as costed_calls,
      case when provider_cost is null then 0 else charged end as costed_charged,
      coalesce(provider_cost, 0) as provider_cost,
      (coalesce(provider_cost, 0) > charged)::integer as below_cost_calls,
      greatest(coalesce(provider_cost, 0) - charged, 0) as below_cost
    from %I
  $sql$;
  statement text;
begin
  -- Sums by day, model and upstream ('' if a call has none). All commits write these few rows, so each takes a slot that no
  -- other running commit has, and none waits for another. Nearly all rows are of the slot 0.
  execute format($sql$
    create table report_models (
      day date not null, model text not null, upstream text not null, slot smallint not null, %s,
      primary key (day, model, upstream, slot)
    ) with (fillfactor = 50)
  $sql$, columns);
  -- Sums by day, account and key. Rows of one account change only while its wallet is locked.
  execute format($sql$
    create table report_keys (
      day date not null, account_id uuid not null, key_id uuid not null, %s,
      primary key (day, account_id, key_id)
    ) with (fillfactor = 50)
  $sql$, columns);

  select string_agg(format('sum(%s)::bigint', name), ', '),
    string_agg(format('%1$s = total.%1$s + excluded.%1$s', name), ', ')
    into added, raised from unnest(sums) name;
  statement := format($sql$
    with call as materialized (%%1$s),
    of_models as (
      insert into report_models as total (day, model, upstream, slot, %1$s)
      select day, model, upstream, own_slot, %2$s
      from call cross join (select %%2$s::smallint as own_slot) own
      group by 1, 2, 3, 4 order by 1, 2, 3
      on conflict (day, model, upstream, slot) do update set %3$s
    )
    insert into report_keys as total (day, account_id, key_id, %1$s)
    select day, account_id, key_id, %2$s from call group by 1, 2, 3 order by 1, 2, 3
    on conflict (day, account_id, key_id) do update set %3$s
  $sql$, names, added, raised);

  execute format($function$
    create function count_report() returns trigger language plpgsql set plan_cache_mode = force_generic_plan as $$
    declare
      free_slot smallint := 0;
    begin
      -- The last slot is shared. Its rows are written in one order, so commits wait for each other but never deadlock.
      while free_slot < 15 and not pg_try_advisory_xact_lock(7305302, free_slot) loop
        free_slot := free_slot + 1;
      end loop;
      %1$s;
      return null;
    end
    $$
  $function$, format(statement, format(calls, 'recorded'), 'free_slot'));

  -- Its lock lets no commit pass until the calls so far are added.
  create trigger usage_records_reported
    after insert on usage_records
    referencing new table as recorded
    for each statement execute function count_report();
  execute format(statement, format(calls, 'usage_records'), '0');
end
$do$;

-- Returns what is left of the gifts of an account after its movements, in their order: of each the gift in it (0 if it is none,
-- negative if one was taken back), and the balance before it. Gifts are spent last, so what is left is never above the balance.
create function gift_left(so_far bigint, gift bigint, balance_before bigint) returns bigint language plpgsql immutable as $$
begin
  return greatest(0, least(so_far, balance_before) + gift);
end
$$;
create aggregate gifts_left(gift bigint, balance_before bigint) (sfunc = gift_left, stype = bigint, initcond = '0');

-- The movements of all accounts by their time. Charges of calls are not in it, so a commit of calls costs the same.
create index ledger_entries_rest_at on ledger_entries_rest (at, id) where call_id is null;
