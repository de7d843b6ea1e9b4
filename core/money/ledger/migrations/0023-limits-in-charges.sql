-- A charge names the limits that it counts against, so limits are proven as wallets are: from the rows of the ledger, each
-- added up once. Before this, one statement added up the records of all calls of an account: no end with millions of them.
--
-- The lock waits for running commits; the columns are added without reading a row.
lock table ledger_entries, usage_records in access exclusive mode;

alter table ledger_entries add column limits json;
-- True if the charge of a call names its limits. Records from before this migration have null, as has a commit that
-- began before its end: their limits are added up from the records themselves.
alter table usage_records add column charge_names_limits boolean;

-- What `prove_ledger` and `prove_limit_records` have added up.
create table proven_limits (
  account_id uuid not null,
  name text not null,
  charged bigint not null,
  primary key (account_id, name)
);

alter table ledger_proof
  -- The last record that `prove_limit_records` has added up; `infinity` once it has reached the end.
  add column record_at timestamptz not null default '-infinity',
  add column record_call uuid not null default '00000000-0000-0000-0000-000000000000',
  -- The time of the newest record that it had to add up: none was made since. `infinity` until it is known, `-infinity`
  -- if there was none.
  add column records_end timestamptz not null default 'infinity',
  add column newest_record timestamptz not null default '-infinity';

-- Before the first limit no call named one.
lock table wallet_limit_changes in share mode;
update ledger_proof set record_at = 'infinity', records_end = '-infinity'
  where not exists (select from wallet_limit_changes);

insert into proven_limits
  select account_id, name, sum(charged)::bigint from archived_limits join archived_months using (month)
  where state <> 'closed' group by account_id, name;

-- The new columns change the lines of the rows: what is closed is added up again, and exported again.
update archived_tables set rows = 0, digest = 0, last = null, is_added_up = false
  from archived_months closed where closed.month = archived_tables.month and state = 'closed';
delete from archived_wallets using archived_months closed
  where closed.month = archived_wallets.month and state = 'closed';
delete from archived_limits using archived_months closed
  where closed.month = archived_limits.month and state = 'closed';

-- As before, but the charge names the limits, and the record says so.
create or replace function settle_calls(account_ids uuid[], call_ids uuid[], batch json) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  locked integer;
  sorted_ids uuid[] := array(select unnest(call_ids) order by 1);
  first_id uuid := sorted_ids[1];
  last_id uuid := sorted_ids[cardinality(sorted_ids)];
  settled uuid[];
  base usage_records;
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

  base.charge_names_limits := true;
  with input as materialized (
    select record, (record).call_id, (record).account_id, (record).charged, (record).limits,
      row_number() over () as n
    from json_populate_recordset(base, batch) record
  ),
  fresh as materialized (
    select call_id, account_id, charged, limits, n from input
    where charged > 0 and call_id <> all (settled)
  ),
  charges as (
    insert into ledger_entries (account_id, kind, amount, balance_after, call_id, limits)
    select account_id, 'charge', -charged,
      (balance - sum(charged) over (partition by account_id order by n))::bigint, call_id, limits
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

-- As before, and the limits.
create or replace function prove_ledger(through bigint, rows_max integer) returns bigint
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  proven bigint;
  page_end bigint;
begin
  select entry_id into proven from ledger_proof for update;
  select id into page_end from ledger_entries
    where id > proven and id <= through order by id offset rows_max - 1 limit 1;
  page_end := greatest(proven, coalesce(page_end, through));
  with page as materialized (
    select account_id, amount, limits from ledger_entries where id > proven and id <= page_end
  ),
  of_limits as (
    insert into proven_limits as earlier
      select account_id, named.name, -sum(amount)::bigint
      from page cross join json_array_elements_text(limits) named (name)
      group by account_id, named.name
      on conflict (account_id, name) do update set charged = earlier.charged + excluded.charged
  )
  insert into proven_wallets as wallet
    select account_id, sum(amount)::bigint from page group by account_id
    on conflict (account_id) do update set amount = wallet.amount + excluded.amount;
  update ledger_proof set entry_id = page_end;
  return page_end;
end
$$;

-- Adds up the limits of the next records whose charges do not name them. No commit may run that began before this
-- migration. Returns the day that it has reached; null if it is at the end.
create function prove_limit_records(rows_max integer) returns text
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  proof ledger_proof;
  last_at timestamptz;
  last_call uuid;
  newest timestamptz;
begin
  select * into proof from ledger_proof for update;
  if proof.record_at = 'infinity' then
    return null;
  end if;
  select at, call_id into last_at, last_call from usage_records
    where at >= proof.record_at and at <= proof.records_end
      and (at, call_id) > (proof.record_at, proof.record_call)
    order by at, call_id offset rows_max - 1 limit 1;
  last_at := coalesce(last_at, 'infinity');
  with page as materialized (
    select at, account_id, charged, limits from usage_records
    where at >= proof.record_at and at <= least(last_at, proof.records_end)
      and (at, call_id) > (proof.record_at, proof.record_call)
      and (last_call is null or (at, call_id) <= (last_at, last_call))
      and limits is not null and charge_names_limits is not true
  ),
  of_limits as (
    insert into proven_limits as earlier
      select account_id, named.name, sum(charged)::bigint
      from page cross join json_array_elements_text(limits) named (name)
      group by account_id, named.name
      on conflict (account_id, name) do update set charged = earlier.charged + excluded.charged
  )
  select max(at) into newest from page;
  update ledger_proof set
    record_at = last_at,
    record_call = coalesce(last_call, record_call),
    newest_record = greatest(newest_record, newest),
    records_end = case when last_at = 'infinity' then greatest(newest_record, newest) else records_end end;
  return case when last_at = 'infinity' then null else to_char(last_at at time zone 'UTC', 'YYYY-MM-DD') end;
end
$$;

-- Charges of the limits of these accounts that are not proven yet. Of the same instant as the statement that calls it.
create function unproven_limits(account_ids uuid[]) returns table (account_id uuid, name text, charged bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  proof ledger_proof := (select ledger_proof from ledger_proof);
begin
  return query
    with charge as (
      select entry.account_id, -entry.amount as charged, entry.limits from ledger_entries entry
      where id > proof.entry_id and entry.account_id = any (account_ids) and entry.limits is not null
      union all
      select record.account_id, record.charged, record.limits from usage_records record
      where proof.record_at < 'infinity' and at >= proof.record_at and at <= proof.records_end
        and (at, call_id) > (proof.record_at, proof.record_call)
        and record.account_id = any (account_ids)
        and record.limits is not null and charge_names_limits is not true
    )
    select charge.account_id, named.name, sum(charge.charged)::bigint
    from charge cross join json_array_elements_text(charge.limits) named (name)
    group by charge.account_id, named.name;
end
$$;

-- As before; the limits begin with their archived sums too.
create or replace function restart_ledger_proof() returns void language sql as $$
  update ledger_proof set entry_id = 0,
    record_at = case when records_end = '-infinity' then 'infinity' else '-infinity' end::timestamptz,
    record_call = '00000000-0000-0000-0000-000000000000';
  delete from proven_wallets;
  insert into proven_wallets (account_id, amount)
    select account_id, sum(amount)::bigint from archived_wallets join archived_months using (month)
    where state <> 'closed' group by account_id;
  delete from proven_limits;
  insert into proven_limits (account_id, name, charged)
    select account_id, name, sum(charged)::bigint from archived_limits join archived_months using (month)
    where state <> 'closed' group by account_id, name;
$$;

-- As before, but a limit is charged by the rows of the ledger, and by the records whose charges do not name it.
create or replace function add_up_month(wanted text, rows_max integer) returns integer language plpgsql as $$
declare
  part archived_tables;
  added integer;
  added_digest numeric;
  last_line json;
begin
  perform from archived_months where month = wanted and state = 'closed' for update;
  select * into part from archived_tables
    where month = wanted and not is_added_up order by name limit 1;
  if not found then
    return 0;
  end if;
  with page as materialized (
    select line::json as line, n,
      ('x' || left(encode(sha256(convert_to(line, 'UTF8')), 'hex'), 13))::bit(52)::bigint as digest
    from archive_lines(part.name, part.last, rows_max) with ordinality lines (line, n)
  ),
  limits as (
    insert into archived_limits as sums
    select wanted, (line->>'account_id')::uuid, named.name,
      sum(case when part.is_usage then (line->>'charged')::bigint else -(line->>'amount')::bigint end)
    from page cross join json_array_elements_text(
      case json_typeof(line->'limits') when 'array' then line->'limits' else '[]'::json end
    ) named (name)
    where (line->>'charge_names_limits')::boolean is not true
    group by 2, 3
    on conflict (month, account_id, name) do update set charged = sums.charged + excluded.charged
  ),
  accounts as (
    insert into archived_wallets as sums
    select wanted, (line->>'account_id')::uuid, sum((line->>'amount')::bigint), count(*)
    from page where not part.is_usage
    group by 2
    on conflict (month, account_id) do update
      set amount = sums.amount + excluded.amount, rows = sums.rows + excluded.rows
  )
  select count(*), coalesce(sum(digest), 0), (select line from page order by n desc limit 1)
    into added, added_digest, last_line from page;
  update archived_tables set rows = rows + added, digest = digest + added_digest,
    last = coalesce(last_line, last), is_added_up = added < rows_max
    where name = part.name;
  return greatest(added, 1);
end
$$;

-- As before, but the records of before this migration must be proven too.
create or replace function close_month(wanted text) returns text
language plpgsql set lock_timeout = '2s' as $$
declare
  ledger_name text := 'ledger_entries_' || replace(wanted, '-', '_');
  part record;
  newest bigint;
begin
  -- So that no table of this month is made meanwhile.
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
  if exists (select from archived_months where month = wanted) then
    return 'closed';
  end if;
  if not exists (select from ledger_months() known where known.month = wanted) then
    return 'no_month';
  end if;
  insert into archived_months (month, state) values (wanted, 'closed');
  insert into archived_tables (name, month, is_usage)
    select relname, wanted, inhparent = 'usage_records'::regclass
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent in ('ledger_entries'::regclass, 'usage_records'::regclass) and (
      relname in (ledger_name, 'usage_records_' || replace(wanted, '-', '_'))
      or (wanted like 'before-%' and relname like 'usage%' and right(relname, 7) < right(ledger_name, 7))
    );
  for part in select name from archived_tables where month = wanted order by name loop
    -- Waits for running commits of this month. A trigger for each row is the only kind that every insert reaches.
    execute format(
      'create trigger month_is_closed before insert on %I for each row execute function refuse_closed_month()',
      part.name
    );
  end loop;
  if to_regclass(ledger_name) is not null then
    execute format('select max(id) from %I', ledger_name) into newest;
  end if;
  if newest > (select entry_id from ledger_proof) or (select record_at < 'infinity' from ledger_proof) then
    for part in select name from archived_tables where month = wanted loop
      execute format('drop trigger month_is_closed on %I', part.name);
    end loop;
    delete from archived_months where month = wanted;
    return 'unproven';
  end if;
  return 'closed';
end
$$;

-- The same.
create or replace function detach_month(wanted text, exported json) returns text
language plpgsql set lock_timeout = '2s' as $$
declare
  part record;
  newest bigint;
begin
  perform from archived_months where month = wanted and state = 'closed' for update;
  if not found then
    return case when exists (select from archived_months where month = wanted) then 'detached' else 'no_month' end;
  end if;
  -- No proof runs until the end of this transaction.
  perform from ledger_proof for update;
  if exists (select from archived_tables where month = wanted and not is_added_up) then
    return 'not_added_up';
  end if;
  if exists (
    select name, rows, digest from archived_tables where month = wanted
    except
    select name, rows, digest
    from json_to_recordset(exported->'tables') as file (name text, rows bigint, digest numeric)
  ) then
    return 'other_rows';
  end if;
  if (select record_at < 'infinity' from ledger_proof) then
    return 'unproven';
  end if;
  for part in select name, is_usage from archived_tables where month = wanted order by name loop
    if not part.is_usage then
      execute format('select max(id) from %I', part.name) into newest;
      if newest > (select entry_id from ledger_proof) then
        return 'unproven';
      end if;
    end if;
  end loop;
  for part in select name, is_usage from archived_tables where month = wanted order by name loop
    execute format(
      'alter table %I detach partition %I',
      case when part.is_usage then 'usage_records' else 'ledger_entries' end, part.name
    );
  end loop;
  update archived_months set state = 'detached', detached_at = now(), manifest = exported where month = wanted;
  return 'detached';
end
$$;
