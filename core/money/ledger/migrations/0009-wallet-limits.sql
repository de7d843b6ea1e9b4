-- Limits beside a wallet, the budget of a key for example. A call that names them is charged to each in the transaction
-- that charges its wallet, so what is left of a limit survives whatever happens where calls are held.
-- Rows of one account change only while its wallet is locked, as in `usage_daily`.
create table wallet_limits (
  account_id uuid not null references wallets,
  name text not null,
  total bigint not null check (total between 0 and 9007199254740991),
  -- Sum of the calls that named this limit. It may pass the total: a limit stops holds, never a charge.
  charged bigint not null default 0 check (charged >= 0),
  -- Counts the changes of the total: what a hold store needs to catch up.
  version integer not null,
  primary key (account_id, name)
) with (fillfactor = 50);

-- Every change of a total, for ever. Charges are in `usage_records`.
create table wallet_limit_changes (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  name text not null,
  kind text not null check (kind in ('set', 'add', 'remove')),
  amount bigint,
  total_after bigint check (total_after between 0 and 9007199254740991),
  reference text,
  reason text,
  at timestamptz not null default now(),
  check (
    case kind
      when 'remove' then amount is null and total_after is null and reference is null
      else amount is not null and total_after is not null and reference is not null
    end
  )
);

create unique index wallet_limit_changes_reference on wallet_limit_changes (reference)
  where reference is not null;
create index wallet_limit_changes_limit on wallet_limit_changes (account_id, name, id);

create trigger wallet_limit_changes_append_only
  before update or delete or truncate on wallet_limit_changes
  for each statement execute function refuse_change();

-- The names of the limits that a call counts against; null if there are none, as in records from before this migration.
alter table usage_records add column limits json;
alter table quarantine add column limits json;

-- Commits a batch: as before, and charges the limits that its calls name. A limit that is not there (any more) has no
-- row to charge.
create or replace function settle_calls(account_ids uuid[], batch json) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  locked integer;
begin
  perform from wallets where account_id = any (account_ids) order by account_id for update;
  get diagnostics locked = row_count;
  if locked <> cardinality(account_ids) then
    raise exception 'no such account' using errcode = 'foreign_key_violation';
  end if;

  with input as materialized (
    select record, (record).call_id, (record).account_id, (record).charged, (record).limits,
      row_number() over () as n
    from json_populate_recordset(null::usage_records, batch) record
  ),
  fresh as materialized (
    select call_id, account_id, charged, limits, n from input
    where charged > 0
      and not exists (select from ledger_entries entry where entry.call_id = input.call_id)
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

-- Sets the total of a limit ('set'), or adds to it ('add'); makes the limit if it is new. Returns 'changed',
-- 'repeated', or why nothing was done. A name that was removed is never used again: charges of its calls may still be
-- on their way.
create function change_wallet_limit(
  changed_account uuid, limit_name text, change_kind text, change_amount bigint,
  change_reference text, change_reason text, limits_max integer
) returns text language plpgsql as $$
declare
  total_before bigint;
  new_total bigint;
  earlier wallet_limit_changes;
begin
  perform from wallets where account_id = changed_account for update;
  if not found then
    return 'no_account';
  end if;
  select * into earlier from wallet_limit_changes where reference = change_reference;
  if found then
    return case
      when (earlier.account_id, earlier.name, earlier.kind, earlier.amount)
        = (changed_account, limit_name, change_kind, change_amount) then 'repeated'
      else 'reference_conflict'
    end;
  end if;
  if exists (
    select from wallet_limit_changes
    where account_id = changed_account and name = limit_name and kind = 'remove'
  ) then
    return 'removed';
  end if;
  select total into total_before from wallet_limits
  where account_id = changed_account and name = limit_name;
  if not found and (
    select count(*) from wallet_limits where account_id = changed_account
  ) >= limits_max then
    return 'too_many';
  end if;
  new_total := change_amount + case change_kind when 'add' then coalesce(total_before, 0) else 0 end;
  if new_total < 0 then
    return 'below_zero';
  end if;
  if new_total > 9007199254740991 then
    return 'out_of_range';
  end if;
  insert into wallet_limit_changes (
    account_id, name, kind, amount, total_after, reference, reason
  )
  values (
    changed_account, limit_name, change_kind, change_amount, new_total,
    change_reference, change_reason
  )
  on conflict (reference) where reference is not null do nothing;
  if not found then
    -- Another change of this account would have waited for the wallet: this one is of another account.
    return 'reference_conflict';
  end if;
  insert into wallet_limits (account_id, name, total, version)
  values (changed_account, limit_name, new_total, 1)
  on conflict (account_id, name) do update
    set total = excluded.total, version = wallet_limits.version + 1;
  return 'changed';
end
$$;

-- Removes a limit, and notes that its name is used up. False if there is none.
create function remove_wallet_limit(changed_account uuid, limit_name text) returns boolean
language plpgsql as $$
begin
  perform from wallets where account_id = changed_account for update;
  delete from wallet_limits where account_id = changed_account and name = limit_name;
  if not found then
    return false;
  end if;
  insert into wallet_limit_changes (account_id, name, kind)
  values (changed_account, limit_name, 'remove');
  return true;
end
$$;
