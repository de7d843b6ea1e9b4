-- works with: 0023-limits-in-charges
--
-- The proven sum of a wallet has a digest of its rows beside it, and so a full proof also finds rows that were changed by hand
-- without changing a sum: an amount moved from one row to another, the id of a call, a reference.
--
-- Waits for a page of a proof that is running: it locks this table first, too.
lock table ledger_proof in exclusive mode;

-- The first 52 bits of the SHA-256 of what a row has: sums of them do not depend on the order of the rows. The columns
-- are named here, so a column that is added to the table changes no digest. Settings of a session change none either.
create function entry_digest(entry ledger_entries) returns bigint language sql stable as $$
  select ('x' || left(encode(sha256(convert_to(concat_ws(
    '|', entry.id, entry.account_id, entry.kind, entry.amount, entry.balance_after, entry.call_id,
    quote_nullable(entry.reference), quote_nullable(entry.reason),
    extract(epoch from entry.at), quote_nullable(entry.limits::text)
  ), 'UTF8')), 'hex'), 13))::bit(52)::bigint
$$;

alter table proven_wallets add column digest numeric not null default 0;
-- 0 for a month that left the ledger before this migration.
alter table archived_wallets add column digest numeric not null default 0;

alter table ledger_proof
  -- True if the digests are of all rows up to `entry_id`. False in an older ledger until a full proof has begun.
  add column has_digests boolean not null default false,
  -- The row up to which `proof_checkpoint` was proven, if a full proof has to compare with it: it has not come there yet, or
  -- has found a difference.
  add column checkpoint_entry bigint;
update ledger_proof set has_digests = true
  where entry_id = 0 and not exists (select from archived_months where state <> 'closed');

-- What was proven before a full proof began.
create table proof_checkpoint (
  account_id uuid primary key,
  amount bigint not null,
  digest numeric not null,
  -- True if the full proof found other rows.
  is_changed boolean not null default false,
  -- What it found, if it found other rows of any account.
  found_amount bigint,
  found_digest numeric
);

-- Closed months are added up again, with digests.
update archived_tables set rows = 0, digest = 0, last = null, is_added_up = false
  from archived_months closed where closed.month = archived_tables.month and state = 'closed';
delete from archived_wallets using archived_months closed
  where closed.month = archived_wallets.month and state = 'closed';
delete from archived_limits using archived_months closed
  where closed.month = archived_limits.month and state = 'closed';

-- Marks the accounts whose rows are not those of the checkpoint. If there are none, the checkpoint goes.
create function compare_with_checkpoint() returns void language plpgsql as $$
begin
  insert into proof_checkpoint (account_id, amount, digest)
    select account_id, 0, 0 from proven_wallets on conflict do nothing;
  perform from proof_checkpoint kept left join proven_wallets proven using (account_id)
    where kept.amount <> coalesce(proven.amount, 0) or kept.digest <> coalesce(proven.digest, 0) limit 1;
  if not found then
    update ledger_proof set checkpoint_entry = null;
    delete from proof_checkpoint;
    return;
  end if;
  update proof_checkpoint set
    is_changed = proof_checkpoint.amount <> found.amount or proof_checkpoint.digest <> found.digest,
    found_amount = found.amount,
    found_digest = found.digest
  from (
    select account_id, coalesce(proven.amount, 0) as amount, coalesce(proven.digest, 0) as digest
    from proof_checkpoint left join proven_wallets proven using (account_id)
  ) found
  where found.account_id = proof_checkpoint.account_id;
end
$$;

-- Lets the rows that a full proof found changed count as they are. Returns false if none was, or if they are being compared
-- again.
create function accept_changed_rows() returns boolean language plpgsql as $$
begin
  perform from ledger_proof where entry_id >= checkpoint_entry for update;
  if not found or not exists (select from proof_checkpoint where is_changed) then
    return false;
  end if;
  update ledger_proof set checkpoint_entry = null;
  delete from proof_checkpoint;
  return true;
end
$$;

-- As before, with digests, and a page ends at the checkpoint.
create or replace function prove_ledger(through bigint, rows_max integer) returns bigint
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  proof ledger_proof;
  page_end bigint;
begin
  select * into proof from ledger_proof for update;
  select id into page_end from ledger_entries
    where id > proof.entry_id and id <= through order by id offset rows_max - 1 limit 1;
  page_end := greatest(proof.entry_id, coalesce(page_end, through));
  if proof.checkpoint_entry > proof.entry_id then
    page_end := least(page_end, proof.checkpoint_entry);
  end if;
  with page as materialized (
    select account_id, amount, limits, entry_digest(entry) as digest from ledger_entries entry
      where id > proof.entry_id and id <= page_end
  ),
  of_limits as (
    insert into proven_limits as earlier
      select account_id, named.name, -sum(amount)::bigint
      from page cross join json_array_elements_text(limits) named (name)
      group by account_id, named.name
      on conflict (account_id, name) do update set charged = earlier.charged + excluded.charged
  )
  insert into proven_wallets as wallet (account_id, amount, digest)
    select account_id, sum(amount)::bigint, sum(digest) from page group by account_id
    on conflict (account_id) do update
      set amount = wallet.amount + excluded.amount, digest = wallet.digest + excluded.digest;
  update ledger_proof set entry_id = page_end;
  if page_end = proof.checkpoint_entry and page_end > proof.entry_id then
    perform compare_with_checkpoint();
  end if;
  return page_end;
end
$$;

-- As before, but what was proven is kept as a checkpoint, for the full proof to compare its sums with. A checkpoint that was
-- not reached yet stays. To one that differed, what was proven after it is added.
create or replace function restart_ledger_proof() returns void language plpgsql as $$
declare
  proof ledger_proof;
begin
  select * into proof from ledger_proof for update;
  if proof.has_digests and proof.entry_id > 0 and proof.entry_id >= coalesce(proof.checkpoint_entry, 0) then
    insert into proof_checkpoint as kept (account_id, amount, digest)
      select account_id, amount, digest from proven_wallets
      on conflict (account_id) do update
        set amount = kept.amount + excluded.amount - kept.found_amount,
          digest = kept.digest + excluded.digest - kept.found_digest;
    proof.checkpoint_entry := proof.entry_id;
  end if;
  update ledger_proof set entry_id = 0, has_digests = true, checkpoint_entry = proof.checkpoint_entry,
    record_at = case when records_end = '-infinity' then 'infinity' else '-infinity' end::timestamptz,
    record_call = '00000000-0000-0000-0000-000000000000';
  delete from proven_wallets;
  insert into proven_wallets (account_id, amount, digest)
    select account_id, sum(amount)::bigint, sum(digest) from archived_wallets join archived_months using (month)
    where state <> 'closed' group by account_id;
  delete from proven_limits;
  insert into proven_limits (account_id, name, charged)
    select account_id, name, sum(charged)::bigint from archived_limits join archived_months using (month)
    where state <> 'closed' group by account_id, name;
end
$$;

-- As before, with digests.
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
      case when not part.is_usage then json_populate_record(null::ledger_entries, line::json) end as entry,
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
    insert into archived_wallets as sums (month, account_id, amount, rows, digest)
    select wanted, (line->>'account_id')::uuid, sum((line->>'amount')::bigint), count(*),
      sum(entry_digest(entry))
    from page where not part.is_usage
    group by 2
    on conflict (month, account_id) do update
      set amount = sums.amount + excluded.amount, rows = sums.rows + excluded.rows,
        digest = sums.digest + excluded.digest
  )
  select count(*), coalesce(sum(digest), 0), (select line from page order by n desc limit 1)
    into added, added_digest, last_line from page;
  update archived_tables set rows = rows + added, digest = digest + added_digest,
    last = coalesce(last_line, last), is_added_up = added < rows_max
    where name = part.name;
  return greatest(added, 1);
end
$$;

-- Returns false while records are to be added up, or rows to be compared, or were found changed: no month may leave then.
create function has_ended_proof() returns boolean language sql stable as $$
  select record_at = 'infinity' and checkpoint_entry is null from ledger_proof
$$;

-- As before, but rows that a full proof has yet to compare, or found changed, must not leave.
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
  if newest > (select entry_id from ledger_proof) or not has_ended_proof() then
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
  if not has_ended_proof() then
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
