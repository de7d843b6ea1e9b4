-- Old months leave the database: an operator closes a month, exports its rows, and detaches its tables. The sums of its
-- charges stay here, so the balances are still proven. A period is a month (`2026-03`), or `before-2027-01`: the charges
-- from before the ledger had months. `archived_months` is made by 0020.
-- The tables of a month. `digest` is the sum of the first 52 bits of the SHA-256 of each row's line, so that an export
-- can be compared with the rows whatever its order.
create table archived_tables (
  name text primary key,
  month text not null references archived_months on delete cascade,
  is_usage boolean not null,
  rows bigint not null default 0,
  digest numeric not null default 0,
  -- The last row that is added up.
  last json,
  is_added_up boolean not null default false
);

create table archived_wallets (
  month text not null references archived_months on delete cascade,
  account_id uuid not null,
  -- In µđ; negative, because only charges are archived.
  amount bigint not null,
  rows bigint not null,
  primary key (account_id, month)
);

create table archived_limits (
  month text not null references archived_months on delete cascade,
  account_id uuid not null,
  name text not null,
  charged bigint not null,
  primary key (account_id, name, month)
);

create function refuse_closed_month() returns trigger language plpgsql as $$
begin
  raise exception 'the month of % is archived: no call of it can be committed any more', tg_table_name
    using errcode = 'check_violation';
end
$$;

-- All periods that have tables or were archived. `ledger_entries_rest` is of no period.
create function ledger_months() returns table (month text, state text, rows bigint, bytes bigint)
language sql stable as $$
  with parts as (
    select relname, pg_class.oid, greatest(reltuples, 0)::bigint as estimate,
      replace(regexp_replace(relname, '^(ledger_entries|usage_records)_', ''), '_', '-') as named
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent in ('ledger_entries'::regclass, 'usage_records'::regclass)
      and relname <> 'ledger_entries_rest'
  ),
  before as (select named as period from parts where named like 'before-%'),
  periods as (
    select parts.*, coalesce(
      (select period from before where named not like 'before-%' and right(period, 7) > named), named
    ) as period
    from parts
  )
  select coalesce(period, archived.month), coalesce(archived.state, 'open'),
    coalesce(
      (select sum(archived_tables.rows)::bigint from archived_tables
        where archived_tables.month = archived.month and archived.state <> 'closed'),
      sum(estimate)::bigint
    ),
    coalesce(sum(pg_total_relation_size(periods.oid))::bigint, 0)
  from periods full join archived_months archived on archived.month = period
  group by period, archived.month, archived.state
  order by 1
$$;

-- Closes a month: from now on its rows never change. Calls of it that come later go to quarantine. Returns 'closed', or
-- why nothing was done: 'no_month', or 'unproven' if `prove_ledger` has not added up all its rows.
create function close_month(wanted text) returns text
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
  if newest > (select entry_id from ledger_proof) then
    for part in select name from archived_tables where month = wanted loop
      execute format('drop trigger month_is_closed on %I', part.name);
    end loop;
    delete from archived_months where month = wanted;
    return 'unproven';
  end if;
  return 'closed';
end
$$;

-- The next rows of a table of a closed month, one JSON text each, in the order of their keys. `last_line` is
-- that of the page before. The session's settings do not change the text.
create function archive_lines(part text, last_line json, rows_max integer) returns setof text
language plpgsql stable set timezone = 'UTC' set extra_float_digits = 1 set plan_cache_mode = force_custom_plan as $$
declare
  is_usage_part boolean;
begin
  select is_usage into strict is_usage_part from archived_tables where name = part;
  if is_usage_part then
    return query execute format(
      'select row_to_json(entry)::text from %I entry where (at, call_id) > ($1, $2) order by at, call_id limit $3', part
    ) using
      coalesce((last_line->>'at')::timestamptz, '-infinity'),
      coalesce((last_line->>'call_id')::uuid, '00000000-0000-0000-0000-000000000000'), rows_max;
  else
    return query execute format(
      'select row_to_json(entry)::text from %I entry where id > $1 order by id limit $2', part
    ) using coalesce((last_line->>'id')::bigint, 0), rows_max;
  end if;
end
$$;

-- Adds up the next rows of a closed month, by table, account and limit. Returns how many, 0 once all are added up.
create function add_up_month(wanted text, rows_max integer) returns integer language plpgsql as $$
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
    select wanted, (line->>'account_id')::uuid, named.name, sum((line->>'charged')::bigint)
    from page cross join json_array_elements_text(
      case json_typeof(line->'limits') when 'array' then line->'limits' else '[]'::json end
    ) named (name)
    where part.is_usage
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

-- Takes the tables of a closed month out of the ledger: in one transaction, with a short lock. `exported` has, for each
-- table, the rows and the digest of the operator's file. Returns 'detached', or why nothing was done.
create function detach_month(wanted text, exported json) returns text
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

-- Deletes the tables of a detached month.
create function drop_month(wanted text) returns text language plpgsql set lock_timeout = '2s' as $$
declare
  part record;
begin
  perform from archived_months where month = wanted and state = 'detached' for update;
  if not found then
    return coalesce((select state from archived_months where month = wanted), 'open');
  end if;
  for part in select name from archived_tables where month = wanted loop
    execute format('drop table if exists %I', part.name);
  end loop;
  update archived_months set state = 'dropped' where month = wanted;
  return 'dropped';
end
$$;

-- Makes a closed month as it was before: it is exported anew, or takes calls again.
create function reopen_month(wanted text) returns boolean language plpgsql set lock_timeout = '2s' as $$
declare
  part record;
begin
  perform from archived_months where month = wanted and state = 'closed' for update;
  if not found then
    return false;
  end if;
  for part in select name from archived_tables where month = wanted loop
    execute format('drop trigger month_is_closed on %I', part.name);
  end loop;
  delete from archived_months where month = wanted;
  return true;
end
$$;

-- A full proof begins with the archived sums.
create or replace function restart_ledger_proof() returns void language sql as $$
  update ledger_proof set entry_id = 0;
  delete from proven_wallets;
  insert into proven_wallets (account_id, amount)
    select account_id, sum(amount)::bigint from archived_wallets join archived_months using (month)
    where state <> 'closed' group by account_id;
$$;
