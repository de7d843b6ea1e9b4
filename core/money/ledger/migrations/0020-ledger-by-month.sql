-- The ledger has a partition for each month of calls, so that old months can be archived. A call's month is that of its
-- id, and not of the commit: so the index on `call_id` still makes sure that no call is charged twice, in whatever month.
-- `ledger_entries_rest`, the default partition, has what has no month: movements. Their references stay for ever.
-- The charges from before this migration are one partition.
lock table ledger_entries in access exclusive mode;

alter table ledger_entries_rest no inherit ledger_entries;
-- Charges with later ids get partitions of their own, below.
alter table ledger_entries_rest disable trigger ledger_entries_append_only;
create temporary table later_charges on commit drop as
  select * from ledger_entries_rest where call_id < first_call_id('2100-01-01 00:00Z');
delete from ledger_entries_rest where call_id < first_call_id('2100-01-01 00:00Z');
alter table ledger_entries_rest enable trigger ledger_entries_append_only;

-- A charge is refused if the partition of its month is missing. The bounds are constants, so Postgres sees that no row is
-- of a new partition, and need not look. Ids of before 2020 are in the partition of the charges from before, if there is
-- one: once that is archived, they are refused as those of all its months.
do $$
begin
  execute format(
    'alter table ledger_entries_rest add constraint ledger_entries_rest_has_no_month
    check (call_id is null or call_id < %L or call_id >= %L)',
    case
      when exists (select from ledger_entries) then first_call_id('1970-01-01 00:00Z')
      else first_call_id('2020-01-01 00:00Z')
    end,
    first_call_id('2100-01-01 00:00Z')
  );
end
$$;

-- The months, such as `2026-03`, that an operator takes out of the ledger: see 0021.
create table archived_months (
  month text primary key,
  -- `closed`: its rows never change again. `detached`: its tables are not in the ledger any more. `dropped`: they are gone.
  state text not null check (state in ('closed', 'detached', 'dropped')),
  closed_at timestamptz not null default now(),
  detached_at timestamptz,
  -- The contents of the operator's files: see plugins/admin/cli/archive-file.ts.
  manifest json
);

-- Whether a month, such as `2026-03`, is closed or was archived, as itself or in the period before the first month.
create function is_archived_month(wanted text) returns boolean language sql stable as $$
  select exists (
    select from archived_months
    where month = wanted or (month like 'before-%' and right(month, 7) > wanted)
  )
$$;

-- The ids of the calls of an archived month are not in the ledger any more: in a new table, a call would be charged twice.
create function refuse_archived_month(wanted text) returns void language plpgsql as $$
begin
  if is_archived_month(wanted) then
    raise exception 'the month % is archived: no call of it can be committed any more', wanted
      using errcode = 'check_violation';
  end if;
end
$$;

-- Makes the partition that holds the ids of `moment`; does nothing if there is one.
create function make_ledger_partition(moment timestamptz) returns void
language plpgsql set lock_timeout = '2s' as $$
declare
  first_day timestamp := date_trunc('month', moment at time zone 'UTC');
  month text := to_char(first_day, 'YYYY_MM');
  partition_name text := 'ledger_entries_' || month;
begin
  if to_regclass(partition_name) is not null
    or moment < '2020-01-01 00:00Z' or moment >= '2100-01-01 00:00Z'
    or exists (
      select from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'ledger_entries'::regclass
        and relname like 'ledger\_entries\_before\_%' and right(relname, 7) > month
    )
  then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
  -- `close_month` has the same lock.
  perform refuse_archived_month(to_char(first_day, 'YYYY-MM'));
  -- `to_regclass` does not see yet what the process before has made.
  if exists (select from pg_class where relname = partition_name and pg_table_is_visible(oid)) then
    return;
  end if;
  -- A table that is created as a partition locks the whole ledger. One that is attached locks the default partition,
  -- `ledger_entries_rest`: commits of charges go on, but not movements. They wait `lock_timeout` at most.
  execute format('create table %I (like ledger_entries including defaults including constraints)', partition_name);
  execute format('alter table %I add primary key (id)', partition_name);
  execute format(
    'create trigger ledger_entries_append_only before update or delete or truncate on %I
    for each statement execute function refuse_change()', partition_name
  );
  execute format(
    'alter table ledger_entries attach partition %I for values from (%L) to (%L)',
    partition_name,
    first_call_id(first_day at time zone 'UTC'),
    first_call_id((first_day + interval '1 month') at time zone 'UTC')
  );
end
$$;

-- Gateways of the version before call it for the month in which a call began. Its id is of the same moment. The commit of a
-- call of an archived month is an error. Locks in the order of `detach_month`.
create or replace function make_usage_partition(moment timestamptz) returns void
language plpgsql set lock_timeout = '2s' as $$
declare
  first_day timestamp := date_trunc('month', moment at time zone 'UTC');
  partition_name text := 'usage_records_' || to_char(first_day, 'YYYY_MM');
begin
  perform refuse_archived_month(to_char(first_day, 'YYYY-MM'));
  perform make_ledger_partition(moment);
  if to_regclass(partition_name) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
  -- `close_month` has the same lock.
  perform refuse_archived_month(to_char(first_day, 'YYYY-MM'));
  -- `to_regclass` does not see yet what the process before has made.
  if exists (select from pg_class where relname = partition_name and pg_table_is_visible(oid)) then
    return;
  end if;
  execute format('create table %I (like usage_records including defaults including constraints)', partition_name);
  execute format(
    'alter table usage_records attach partition %I for values from (%L) to (%L)',
    partition_name,
    first_day at time zone 'UTC',
    (first_day + interval '1 month') at time zone 'UTC'
  );
end
$$;

do $$
declare
  old text;
  bound timestamp;
  has_charges boolean := exists (select from ledger_entries);
begin
  select conname into strict old from pg_constraint
    where conrelid = 'ledger_entries'::regclass and conname like 'ledger\_entries\_before\_%';
  bound := to_timestamp(right(old, 7), 'YYYY_MM');
  drop index ledger_entries_reference;
  execute format('alter table ledger_entries rename to %I', old);
  execute format('alter index ledger_entries_pkey rename to %I', old || '_pkey');
  execute format('alter index ledger_entries_call rename to %I', old || '_call');
  execute format('alter index ledger_entries_account rename to %I', old || '_account');
  execute format('alter index ledger_entries_topped_up rename to %I', old || '_topped_up');

  create table ledger_entries (like ledger_entries_rest including defaults including constraints)
    partition by range (call_id);
  alter table ledger_entries drop constraint ledger_entries_rest_has_no_month;
  create unique index ledger_entries_call on ledger_entries (call_id) where call_id is not null;
  create index ledger_entries_account on ledger_entries (account_id, id) include (amount);
  -- Empty in months: it keeps the index of movements from becoming part of an index that a plugin makes and drops.
  create index ledger_entries_topped_up on ledger_entries (account_id, at)
    include (amount, reference) where kind = 'topup';
  create trigger ledger_entries_append_only
    before update or delete or truncate on ledger_entries
    for each statement execute function refuse_change();
  alter table ledger_entries attach partition ledger_entries_rest default;
  if has_charges then
    -- It has the indexes, and the constraint is proven: nothing is read.
    execute format(
      'alter table ledger_entries attach partition %I for values from (minvalue) to (%L)',
      old, first_call_id(bound at time zone 'UTC')
    );
  else
    execute format('drop table %I', old);
  end if;

  -- Running gateways take it that the months of these partitions are complete.
  perform make_ledger_partition(
    to_timestamp(right(relname, 7), 'YYYY_MM')::timestamp at time zone 'UTC'
  )
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'usage_records'::regclass;
  perform make_ledger_partition(
    to_timestamp(('x' || left(replace(call_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
  ) from later_charges;
  insert into ledger_entries select * from later_charges;
end
$$;

-- As before, with the ids of the calls in the batch: so that only the partitions of their months are read or planned for.
create function settle_calls(account_ids uuid[], call_ids uuid[], batch json) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  locked integer;
  sorted_ids uuid[] := array(select unnest(call_ids) order by 1);
  first_id uuid := sorted_ids[1];
  last_id uuid := sorted_ids[cardinality(sorted_ids)];
  settled uuid[];
begin
  perform from wallets where account_id = any (account_ids) order by account_id for update;
  get diagnostics locked = row_count;
  if locked <> cardinality(account_ids) then
    raise exception 'no such account' using errcode = 'foreign_key_violation';
  end if;

  -- The range excludes partitions when the statement is planned. The list must not: that takes a step for each id.
  settled := array(
    select call_id from ledger_entries
    where call_id between first_id and last_id and call_id = any ((select sorted_ids)::uuid[])
  );

  with input as materialized (
    select record, (record).call_id, (record).account_id, (record).charged, (record).limits,
      row_number() over () as n
    from json_populate_recordset(null::usage_records, batch) record
  ),
  fresh as materialized (
    select call_id, account_id, charged, limits, n from input
    where charged > 0 and call_id <> all (settled)
  ),
  charges as (
    insert into ledger_entries (account_id, kind, amount, balance_after, call_id)
    select account_id, 'charge', -charged,
      (balance - sum(charged) over (partition by account_id order by n))::bigint, call_id
    from fresh join wallets using (account_id)
    order by n
  ),
  totals as (
    select account_id, sum(charged)::bigint as charged from fresh group by account_id
  ),
  charged_wallets as (
    update wallets set balance = balance - totals.charged
    from totals where wallets.account_id = totals.account_id
  ),
  limit_totals as (
    select account_id, named.name, sum(charged)::bigint as charged
    from fresh cross join json_array_elements_text(fresh.limits) named (name)
    group by account_id, named.name
  ),
  charged_limits as (
    update wallet_limits set charged = wallet_limits.charged + limit_totals.charged
    from limit_totals
    where wallet_limits.account_id = limit_totals.account_id
      and wallet_limits.name = limit_totals.name
      -- So that the index is used: the planner takes the names in a batch for thousands.
      and wallet_limits.account_id = any (account_ids)
  )
  insert into usage_records
  select (input.record).*
  from input
  where charged = 0 or call_id in (select call_id from fresh)
  on conflict (at, call_id) do nothing;
end
$$;

-- Gateways of the version before call it.
create or replace function settle_calls(account_ids uuid[], batch json) returns void language sql as $$
  select settle_calls(
    account_ids, array(select (record->>'call_id')::uuid from json_array_elements(batch) record), batch
  )
$$;

-- Plans are made for the rows that are asked for, as in `settle_calls`.
alter function prove_ledger(bigint, integer) set plan_cache_mode = force_custom_plan;

-- Sums of the rows that are not proven yet, by account: few, if `prove_ledger` was called lately. Of the same instant as
-- the statement that calls it.
create function unproven_sums() returns table (account_id uuid, amount bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  proven bigint := (select entry_id from ledger_proof);
begin
  return query select entry.account_id, sum(entry.amount)::bigint from ledger_entries entry
    where id > proven group by entry.account_id;
end
$$;
