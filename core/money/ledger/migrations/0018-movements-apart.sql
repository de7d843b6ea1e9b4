-- The first of three steps to a ledger with a partition for each month of calls. A step that locks the ledger is short;
-- the one that reads all of it, 0019, lets calls be committed meanwhile.
--
-- Movements other than charges are few and stay for ever: here they leave the table of charges. Until 0020 their table
-- inherits from that of the charges, so statements that read `ledger_entries` read both.
lock table ledger_entries in access exclusive mode;

-- The rows of all partitions are numbered by one sequence. An identity column cannot be shared.
create sequence ledger_entry_ids;
select setval('ledger_entry_ids', coalesce((select max(id) from ledger_entries), 0) + 1, false);
alter table ledger_entries alter column id drop identity;
alter table ledger_entries alter column id set default nextval('ledger_entry_ids');

create table ledger_entries_rest (like ledger_entries including defaults including constraints);

-- The least id that a call of this time can have: ids of calls begin with 48 bits of milliseconds (UUID version 7).
create function first_call_id(moment timestamptz) returns uuid language sql immutable as $$
  select rpad(lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- All charges so far become one partition, which ends with the next month: gateways go on committing to it until 0020.
-- Charges with later ids were made with a wrong clock, and must not keep that partition from being archived: they leave it.
do $$
declare
  bound timestamp := least(
    date_trunc('month', now() at time zone 'UTC') + interval '2 months', '2100-01-01'
  );
begin
  alter table ledger_entries disable trigger ledger_entries_append_only;
  with moved as (delete from ledger_entries where reference is not null returning *)
    insert into ledger_entries_rest select * from moved;
  with moved as (
    delete from ledger_entries where call_id >= first_call_id(bound at time zone 'UTC') returning *
  )
    insert into ledger_entries_rest select * from moved;
  alter table ledger_entries enable trigger ledger_entries_append_only;
  execute format(
    'alter table ledger_entries add constraint %I check (call_id is not null and call_id < %L) no inherit not valid',
    'ledger_entries_before_' || to_char(bound, 'YYYY_MM'), first_call_id(bound at time zone 'UTC')
  );
end
$$;

alter table ledger_entries_rest add primary key (id);
create unique index ledger_entries_rest_call on ledger_entries_rest (call_id) where call_id is not null;
create unique index ledger_entries_rest_reference on ledger_entries_rest (reference)
  where reference is not null;
create index ledger_entries_rest_account on ledger_entries_rest (account_id, id) include (amount);
create index ledger_entries_rest_topped_up on ledger_entries_rest (account_id, at)
  include (amount, reference) where kind = 'topup';

create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries_rest
  for each statement execute function refuse_change();

alter table ledger_entries_rest inherit ledger_entries;

-- As before, but the row goes to the table of movements.
create or replace function credit_wallet(
  credited_account uuid, movement_kind text, movement bigint, movement_reference text, movement_reason text
) returns text language plpgsql as $$
declare
  balance_before bigint;
  earlier ledger_entries_rest;
begin
  select balance into balance_before from wallets where account_id = credited_account for update;
  if not found then
    return 'no_account';
  end if;
  select * into earlier from ledger_entries_rest where reference = movement_reference;
  if found then
    return case
      when (earlier.account_id, earlier.kind, earlier.amount)
        = (credited_account, movement_kind, movement) then 'repeated'
      else 'reference_conflict'
    end;
  end if;
  if balance_before + movement < 0 then
    return 'below_zero';
  end if;
  if movement = 0 or balance_before + movement > 9007199254740991 then
    return 'out_of_range';
  end if;
  insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference, reason)
  values (
    credited_account, movement_kind, movement, balance_before + movement,
    movement_reference, movement_reason
  )
  on conflict (reference) where reference is not null do nothing;
  if not found then
    -- Another movement of this account would have waited for the wallet: this one is of another account.
    return 'reference_conflict';
  end if;
  update wallets
  set balance = balance + movement, credited = credited + movement, credit_version = credit_version + 1
  where account_id = credited_account;
  return 'credited';
end
$$;

create or replace function has_topup(
  topup_reference text, topup_account uuid, topup_amount bigint
) returns boolean language plpgsql as $$
begin
  return exists (
    select from ledger_entries_rest entry
    where entry.reference = topup_reference and entry.kind = 'topup'
      and entry.account_id = topup_account and entry.amount = topup_amount
  );
end
$$;
