-- The books: wallets, every movement of money, and the record of every call. The tables of core/money.
--
-- Money is bigint µđ. A wallet holds at most 2^53 − 1 µđ, the largest integer that the gateways count exactly.
-- Every operation on money is one statement for its client, and so one transaction that no client can leave half way: a
-- gateway that is frozen or cut off holds no lock on a wallet.

-- Names this ledger. A hold store keeps the name of the ledger whose money it has, so that no other is used with it.
create table ledger_identity (
  id uuid not null default gen_random_uuid(),
  is_only boolean primary key default true check (is_only)
);

insert into ledger_identity default values;

-- Wallets -------------------------------------------------------------------------------------------------------------

-- The balance after the last ledger row of an account. The lock on this row orders all movements of the account.
create table wallets (
  account_id uuid primary key references accounts,
  balance bigint not null default 0 check (balance between 0 and 9007199254740991),
  -- The number of movements other than charges, and the sum of those that add money: what a hold store needs to catch up.
  credit_version integer not null default 0,
  credited bigint not null default 0
) with (fillfactor = 50);

-- Creates an account and its empty wallet. Returns false, and creates nothing, if the address is taken. For migrations of
-- plugins too.
create function create_account(new_account uuid, new_email text) returns boolean language plpgsql as $$
begin
  insert into accounts (id, email) values (new_account, new_email) on conflict (lower(email)) do nothing;
  if not found then
    return false;
  end if;
  insert into wallets (account_id) values (new_account);
  return true;
end
$$;

-- Deletes an account that never had money or a key. Raises foreign_key_violation, and deletes nothing, if it had, or if a
-- row of a plugin refers to it. For migrations of plugins.
create function delete_unused_account(unused_account uuid) returns void language plpgsql as $$
begin
  perform lock_account(unused_account);
  -- No call was ever charged without a credit before it.
  delete from wallets where account_id = unused_account and credit_version = 0 and balance = 0;
  if not found then
    raise exception 'the account % had money', unused_account using errcode = 'foreign_key_violation';
  end if;
  delete from accounts where id = unused_account;
end
$$;

-- What was charged to a purse of an account, for example the budget of a key in one month: its name has the period. The
-- transaction that charges the wallet for a call charges the purses that the call names, so what was spent survives the loss of
-- the hold store. How much may be spent is not here: each hold says it. The row is made by the first charge. Rows of one account
-- change only while its wallet is locked.
create table purses (
  account_id uuid not null,
  name text not null,
  charged bigint not null check (charged >= 0),
  primary key (account_id, name)
) with (fillfactor = 50);

-- Entries -------------------------------------------------------------------------------------------------------------

-- One sequence numbers the rows of all partitions. The proof relies on that order.
create sequence ledger_entry_ids;

-- Every movement of money, with the balance after it. The account is not a foreign key: a row is written only while the
-- wallet of its account is locked, and a check of each row would cost a tenth of the throughput.
--
-- Charges are in a partition for each month, so that old months can be archived. The month is that of the call's id, a UUID
-- that begins with its time, and not that of the commit. So the partition follows from `call_id`, and the unique index
-- spans all months: no call is charged twice, whenever it is committed.
create table ledger_entries (
  id bigint not null default nextval('ledger_entry_ids'),
  account_id uuid not null,
  kind text not null check (kind in ('charge', 'topup', 'adjustment')),
  amount bigint not null,
  balance_after bigint not null check (balance_after between 0 and 9007199254740991),
  call_id uuid,
  reference text,
  reason text,
  -- The entry of a hold store's outbox that took the money away; null for other rows.
  debit_entry text,
  at timestamptz not null default now(),
  -- The names of the purses that a charge counts against; null if there are none.
  purses json,
  check (
    case kind
      when 'charge' then amount < 0 and call_id is not null and reference is null
      when 'topup' then amount > 0 and call_id is null and reference is not null
      else amount <> 0 and call_id is null and reference is not null
    end
  )
) partition by range (call_id);

create unique index ledger_entries_call on ledger_entries (call_id) where call_id is not null;
create index ledger_entries_account on ledger_entries (account_id, id) include (amount);
-- Sums of top-ups do not read charges.
create index ledger_entries_moved on ledger_entries (account_id, at) include (kind, amount, reference)
  where kind <> 'charge';

-- Rows without a month: movements, which are few and never archived, and charges whose id has no time from 2020 to 2099.
-- The bounds are constants, so Postgres need not look for rows of a month when it gets a partition.
create table ledger_entries_rest partition of ledger_entries (
  constraint ledger_entries_rest_has_no_month check (
    call_id is null
    or call_id < '016f5e66-e800-0000-0000-000000000000'
    or call_id >= '03bb2cc3-d800-0000-0000-000000000000'
  )
) default;

alter table ledger_entries_rest add primary key (id);
-- No credit is given twice.
create unique index ledger_entries_rest_reference on ledger_entries_rest (reference) where reference is not null;

create unique index ledger_entries_rest_debit on ledger_entries_rest (debit_entry) where debit_entry is not null;

create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries
  for each statement execute function refuse_change();
-- A trigger of the whole does not fire for a statement that names a part.
create trigger ledger_entries_append_only
  before update or delete or truncate on ledger_entries_rest
  for each statement execute function refuse_change();

-- Usage records -------------------------------------------------------------------------------------------------------

-- One row for each call, metadata only, in a partition for each month (UTC) of its start. To keep rows small, a column is
-- null if it says nothing: no factors, no discounts, no fees, a quantity that follows from the other columns.
create table usage_records (
  call_id uuid not null,
  at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  endpoint text not null,
  model text not null,
  mapped_from text,
  upstream text,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images integer not null,
  charged bigint not null check (charged >= 0),
  written_off bigint not null check (written_off >= 0),
  discount_bps integer not null,
  latency_ms double precision not null,
  first_byte_ms double precision,
  status smallint not null,
  streamed boolean not null,
  outcome text not null,
  estimated boolean not null,
  unit text not null,
  catalogue_version text not null,
  unit_price bigint not null,
  -- The factors on the unit price that are not 1, by what they count.
  factors json,
  quantity_millionths bigint,
  discounts json,
  fees bigint,
  -- The names of the purses that the call counts against; null if there are none.
  purses json,
  -- What the provider bills the operator for the call; null if that is not known.
  provider_cost bigint check (provider_cost >= 0),
  -- The call's hold when it was posted; null if the record does not say.
  held bigint,
  primary key (at, call_id)
) partition by range (at);

create index usage_records_account on usage_records (account_id, at desc, call_id desc);
-- Calls that cost the operator more than they brought. Few do, so it costs next to nothing.
create index usage_records_below_cost on usage_records (at desc, call_id desc) where provider_cost > charged;

-- Calls that could not be committed, for an operator to look at. Text takes anything that an entry may have.
--
-- Such a call was charged in the hold store, and not in the ledger. A wallet that is loaded into a hold store is short of
-- these charges: otherwise committing the call later would let the two stores drift apart.
create table quarantine (
  call_id text primary key,
  -- Text, since an unknown account may be why the call is here.
  account_id text not null,
  charged bigint not null check (charged >= 0),
  purses json,
  entry text not null,
  error text not null,
  at timestamptz not null default now()
);

create index quarantine_account on quarantine (account_id);

-- Commits -------------------------------------------------------------------------------------------------------------

-- Commits a batch of calls. `account_ids` are the accounts in it, `call_ids` its calls, `batch` a JSON array of their usage
-- records, each call once. Calls that are in the ledger change nothing: two transactions with the same call lock the same
-- wallet, so the later one sees the row of the earlier. Wallets are locked in the order of their ids, so that batches wait for
-- each other but never deadlock.
--
-- A record has the columns of its table. A field that this version does not know is dropped, a missing one is null: a
-- new nullable column needs no new function.
--
-- Plans are made each time: a plan from when the tables were small reads them from end to end.
create function settle_calls(account_ids uuid[], call_ids uuid[], batch json) returns void
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  locked integer;
  is_repeated boolean := false;
  -- Calls that have a charge, and calls that have a record.
  settled uuid[] := '{}';
  recorded uuid[] := '{}';
begin
  loop
    -- Hardly a batch has a call again, so none is looked for at first. The unique indexes find it, and end the block with its
    -- locks. They are taken inside of it: a row that is locked outside and changed inside costs a lock of two transactions.
    begin
      perform from wallets where account_id = any (account_ids) order by account_id for update;
      get diagnostics locked = row_count;
      if locked <> cardinality(account_ids) then
        raise exception 'no such account' using errcode = 'foreign_key_violation';
      end if;
      if is_repeated then
        settled := array(select call_id from ledger_entries where call_id = any (call_ids));
        recorded := array(
          select record.call_id from json_to_recordset(batch) call (call_id uuid, at timestamptz)
          join usage_records record on record.at = call.at and record.call_id = call.call_id
        );
      end if;

      -- Columns, not a record of them: to take one out of a record takes a walk over those before it.
      with input as materialized (
        select * from json_populate_recordset(null::usage_records, batch)
      ),
      fresh as materialized (
        select call_id, account_id, charged, purses, row_number() over () as n from input
        where charged > 0 and call_id <> all (settled)
      ),
      charges as (
        insert into ledger_entries (account_id, kind, amount, balance_after, call_id, purses)
        select account_id, 'charge', -charged,
          (balance - sum(charged) over (partition by account_id order by n))::bigint, call_id, purses
        from fresh join wallets using (account_id)
        order by account_id, n
      ),
      totals as (
        select account_id, sum(charged)::bigint as charged from fresh group by account_id
      ),
      charged_wallets as (
        update wallets set balance = balance - totals.charged
        from totals where wallets.account_id = totals.account_id
      ),
      charged_purses as (
        insert into purses as purse (account_id, name, charged)
        select account_id, named.name, sum(charged)::bigint
        from fresh cross join json_array_elements_text(fresh.purses) named (name)
        group by account_id, named.name
        on conflict (account_id, name) do update set charged = purse.charged + excluded.charged
      )
      insert into usage_records
      select * from input
      where call_id <> all (recorded) and (charged = 0 or call_id <> all (settled));
      return;
    exception when unique_violation then
      if is_repeated then
        raise;
      end if;
      is_repeated := true;
    end;
  end loop;
end
$$;

-- A call is in the ledger or in quarantine, never in both. Two gateways may have it in hand: one commits it, and one that
-- cannot read it puts it into quarantine. Each locks the wallet, and then looks into the other book by a statement of its own,
-- in these two functions: a statement that has waited for the lock sees the books as they were before.

-- Stores an entry. Returns false, and stores nothing, if its call is charged, or in quarantine already.
create function quarantine_call(
  locked_account uuid, settled_call uuid, stored_call text, stored_account text, stored_charge bigint,
  stored_purses json, stored_entry text, stored_error text, entry_name text
) returns boolean language plpgsql as $$
begin
  perform from wallets where account_id = locked_account for update;
  if exists (select from ledger_entries where call_id = settled_call)
    or exists (select from ledger_entries_rest where debit_entry = entry_name) then
    return false;
  end if;
  insert into quarantine (call_id, account_id, charged, purses, entry, error)
  values (stored_call, stored_account, stored_charge, stored_purses, stored_entry, stored_error)
  on conflict (call_id) do nothing;
  return found;
end
$$;

-- Takes calls out of quarantine. `settle_calls` has locked their wallets in the same transaction.
create function leave_quarantine(settled_calls text[]) returns void language plpgsql as $$
begin
  delete from quarantine where call_id = any (settled_calls);
end
$$;

-- Movements -----------------------------------------------------------------------------------------------------------

-- Adds money. Returns 'credited', 'repeated', or why nothing was done.
create function credit_wallet(
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
  if movement <= 0 or balance_before + movement > 9007199254740991 then
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

-- Takes money away that the hold store has charged. Returns false if the wallet there gets it back: the ledger has another
-- movement under this reference, made by another entry, or refuses this one. A hold store needs only the number to catch up.
create function debit_wallet(
  debited_account uuid, movement_kind text, debit bigint, movement_reference text, movement_reason text, entry_name text
) returns boolean language plpgsql as $$
declare
  balance_before bigint;
  made_by text;
begin
  select balance into balance_before from wallets where account_id = debited_account for update;
  select coalesce(debit_entry, '') into made_by from ledger_entries_rest where reference = movement_reference;
  if found then
    return made_by = entry_name;
  end if;
  if balance_before is null or balance_before < debit then
    return false;
  end if;
  insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference, reason, debit_entry)
  values (
    debited_account, movement_kind, -debit, balance_before - debit, movement_reference, movement_reason, entry_name
  )
  on conflict (reference) where reference is not null do nothing;
  if found then
    update wallets set balance = balance - debit, credit_version = credit_version + 1 where account_id = debited_account;
  end if;
  return found;
end
$$;

-- Returns true if the ledger has this very movement. For migrations of plugins.
create function has_movement(
  movement_reference text, movement_account uuid, movement_amount bigint
) returns boolean language plpgsql as $$
begin
  return exists (
    select from ledger_entries_rest entry
    where entry.reference = movement_reference
      and entry.account_id = movement_account and entry.amount = movement_amount
  );
end
$$;

-- Returns true if some of a top-up was taken back, or its wallet has nothing to take: no calls hold any of it either, which
-- may come back. For migrations of plugins.
create function was_taken_back(topup_reference text) returns boolean language plpgsql as $$
begin
  return exists (
    select from ledger_entries_rest where reference = 'taken-back:1:' || topup_reference
  ) or exists (
    select from ledger_entries_rest topup join wallets wallet on wallet.account_id = topup.account_id
    where topup.reference = topup_reference and wallet.balance <= (
      select coalesce(sum(charged), 0) from quarantine parked where parked.account_id = wallet.account_id::text
    )
  );
end
$$;

-- Returns how much of a movement was taken back. The references of corrections are numbered: see `Corrections`. For migrations
-- of plugins.
create function taken_back_of(moved_reference text) returns bigint language plpgsql as $$
begin
  return (
    select coalesce(-sum(amount), 0) from ledger_entries_rest
    where reference in (
      select 'taken-back:' || correction || ':' || moved_reference from generate_series(1, 100) correction
    )
  );
end
$$;

-- A ledger that lost commits ------------------------------------------------------------------------------------------

-- Counts the commits of each writer in a gateway. Gateways and the hold store remember the counts that were confirmed, so a
-- ledger that lost commits shows: one of its counts is lower. One count for all would not show it: a process that has
-- not noticed yet would raise it again.
create table ledger_writers (
  writer uuid primary key,
  commits bigint not null,
  at timestamptz not null default now()
) with (fillfactor = 50);

-- An operator who accepts what the ledger lost begins a new generation.
create table ledger_generations (
  generation bigint primary key check (generation > 0),
  at timestamptz not null default now()
);

-- Counts the commit that runs in this transaction. Returns its writer's `commits`, and the `generation` to which the commit
-- belongs. Raises if the ledger lacks commits of this writer, which rolls the commit back. Call it last: the other locks of
-- the transaction come first.
create function count_commit(commit_writer uuid, commits_confirmed bigint) returns json
language plpgsql as $$
declare
  counted bigint;
begin
  insert into ledger_writers as counts (writer, commits) values (commit_writer, 1)
  on conflict (writer) do update set commits = counts.commits + 1, at = now()
  returning counts.commits into counted;
  if counted <= commits_confirmed then
    raise exception 'the ledger has % commits of %, and had confirmed %',
      counted - 1, commit_writer, commits_confirmed using errcode = 'TG001';
  end if;
  -- `begin_generation` waits for the commits that are counted and holds up the others. So the generation is read after
  -- the count.
  return json_build_object(
    'commits', counted,
    'generation', (select coalesce(max(generation), 0) from ledger_generations)
  );
end
$$;

-- Begins a generation above every one in the ledger, and above `above`.
create function begin_generation(above bigint) returns void
language plpgsql as $$
begin
  lock table ledger_writers in share mode;
  insert into ledger_generations (generation)
  select greatest(coalesce(max(generation), 0), above) + 1 from ledger_generations;
end
$$;

-- Epochs of the hold store --------------------------------------------------------------------------------------------

-- Redis is a cache of wallets. An epoch is the time in which a bucket of it has surely lost nothing; `core/money/redis`
-- says when one ends. The name of the next is above every one before, and is never used twice: `<counter>-<random>`.
create table hold_epochs (
  bucket text primary key,
  name text not null,
  -- The ledger went back to before the last epoch, so it may not know all members.
  is_restored boolean not null,
  -- Wallets may be loaded.
  is_open boolean not null default false
);

-- The gateways that may have posts of an epoch, each in the last one that it entered.
create table hold_members (
  bucket text not null,
  gateway text not null,
  epoch text not null,
  primary key (bucket, gateway)
);

-- Makes a gateway a member of an epoch, and of no other. Returns false if the bucket has another epoch. Waits for commits of
-- its posts of the epoch before, which the ledger refuses from then on; not for long, since it holds up loads of wallets.
create function enter_epoch(of_bucket text, epoch_name text, member text) returns boolean
language plpgsql set lock_timeout = '2s' as $$
begin
  perform from hold_epochs where bucket = of_bucket and name = epoch_name for share;
  if not found then
    return false;
  end if;
  insert into hold_members (bucket, gateway, epoch) values (of_bucket, member, epoch_name)
  on conflict (bucket, gateway) do update set epoch = excluded.epoch;
  return true;
end
$$;

-- Opens an epoch, and removes the members that have not entered it: the commits of their posts are refused from then on.
-- Waits for those that are running, as above. Returns false, and changes nothing, if another gateway than those in `removable`
-- has not entered it, or if the bucket has another epoch.
create function open_epoch(of_bucket text, epoch_name text, removable text[]) returns boolean
language plpgsql set lock_timeout = '2s' as $$
begin
  perform from hold_epochs where bucket = of_bucket and name = epoch_name for update;
  if not found or exists (
    select from hold_members
    where bucket = of_bucket and epoch <> epoch_name and gateway <> all (removable)
  ) then
    return false;
  end if;
  delete from hold_members where bucket = of_bucket and epoch <> epoch_name;
  update hold_epochs set is_open = true where bucket = of_bucket;
  return true;
end
$$;

-- Refuses a commit, by SQLSTATE TG002, unless each of `memberships`, `<bucket>|<epoch>|<gateway>`, is in force. They stay in
-- force until the end of the transaction.
create function require_members(memberships text[]) returns void
language plpgsql as $$
declare
  found_members integer;
begin
  perform from hold_members where bucket || '|' || epoch || '|' || gateway = any (memberships)
  order by bucket, gateway for share;
  get diagnostics found_members = row_count;
  if found_members < cardinality(memberships) then
    raise exception 'not all of % are members', memberships using errcode = 'TG002';
  end if;
end
$$;

-- The data folder whose gateway has the balances of this ledger in its memory (`stores.hot: embedded`). Only its journal has
-- the posted calls that are not committed, so no other gateway may load wallets until then. At most one row: none if the
-- balances are in Redis, or if the last such gateway has stopped with every call committed.
create table balances_owner (
  is_only boolean primary key default true check (is_only),
  -- The id of the data folder, which is a file in it.
  folder text not null,
  -- The process that uses the folder, or used it last. Another session takes over by replacing it.
  session text not null,
  -- Host, process and path of the folder, for operators.
  place text not null,
  -- Rises while the process runs.
  beats bigint not null default 0,
  at timestamptz not null default now()
);

-- Proof ---------------------------------------------------------------------------------------------------------------

-- What `reconcile` has added up: the sum of each wallet's rows up to one id, so that it reads only the rows after it.
-- Without this, each run would add up the whole ledger.
create table ledger_proof (
  is_only boolean primary key default true check (is_only),
  entry_id bigint not null
);

insert into ledger_proof (entry_id) values (0);

create table proven_wallets (
  account_id uuid primary key,
  -- In µđ.
  amount bigint not null
);

create table proven_purses (
  account_id uuid not null,
  name text not null,
  charged bigint not null,
  primary key (account_id, name)
);

-- Adds up the next rows, at most so many, and none after `through`. No transaction may be open that can still write a row up
-- to `through`. Returns the id up to which all rows are added up.
create function prove_ledger(through bigint, rows_max integer) returns bigint
language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  proof ledger_proof;
  page_end bigint;
begin
  select * into proof from ledger_proof for update;
  select id into page_end from ledger_entries
    where id > proof.entry_id and id <= through order by id offset rows_max - 1 limit 1;
  page_end := greatest(proof.entry_id, coalesce(page_end, through));
  with page as materialized (
    select account_id, amount, purses from ledger_entries where id > proof.entry_id and id <= page_end
  ),
  of_purses as (
    insert into proven_purses as earlier
      select account_id, named.name, -sum(amount)::bigint
      from page cross join json_array_elements_text(purses) named (name)
      group by account_id, named.name
      on conflict (account_id, name) do update set charged = earlier.charged + excluded.charged
  )
  insert into proven_wallets as wallet (account_id, amount)
    select account_id, sum(amount)::bigint from page group by account_id
    on conflict (account_id) do update set amount = wallet.amount + excluded.amount;
  update ledger_proof set entry_id = page_end;
  return page_end;
end
$$;

-- Begins a full proof: every row is added up again.
create function restart_ledger_proof() returns void language plpgsql as $$
begin
  update ledger_proof set entry_id = 0;
  delete from proven_wallets;
  delete from proven_purses;
end
$$;

-- Returns the sums of the rows that are not proven yet, by account: few, if `prove_ledger` was called lately. Of the same
-- instant as the statement that calls it.
create function unproven_sums() returns table (account_id uuid, amount bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  proven bigint := (select entry_id from ledger_proof);
begin
  return query select entry.account_id, sum(entry.amount)::bigint from ledger_entries entry
    where id > proven group by entry.account_id;
end
$$;

-- Returns the charges of the purses of these accounts that are not proven yet. Of the same instant as the statement that
-- calls it.
create function unproven_purses(account_ids uuid[]) returns table (account_id uuid, name text, charged bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  proven bigint := (select entry_id from ledger_proof);
begin
  return query select entry.account_id, named.name, -sum(entry.amount)::bigint
    from ledger_entries entry cross join json_array_elements_text(entry.purses) named (name)
    where id > proven and entry.account_id = any (account_ids)
    group by entry.account_id, named.name;
end
$$;

-- Drift ---------------------------------------------------------------------------------------------------------------

-- Returns what the books say of a wallet, each figure found in another way, so that a drift shows which of them was changed.
-- `breaks`: rows whose balance does not follow from the row before. `added`, `taken` and `charged` add up rows, without those of
-- `mend_wallet`; `credited` and `counted` are sums that are kept beside them. `proven` is null if nothing proves an amount.
create function wallet_evidence(of_account uuid) returns table (
  balance bigint, entries bigint, summed bigint, last_balance bigint, breaks bigint, added bigint, credited bigint,
  taken bigint, charged bigint, counted bigint, quarantined bigint, proven bigint
) language plpgsql stable set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  return query
  with entry as (
    select id, amount, balance_after, lag(balance_after, 1, 0::bigint) over (order by id) as before,
      lead(id) over (order by id) is null as is_last,
      case when kind = 'charge' then 'charged' when reference like 'drift:%' then 'mended'
        when amount > 0 then 'added' else 'taken' end as part
    from ledger_entries where account_id = of_account
  ),
  books as (
    select coalesce(sum(amount), 0)::bigint as entries,
      coalesce(sum(balance_after) filter (where is_last), 0)::bigint as last_balance,
      count(*) filter (where balance_after <> before + amount) as breaks,
      coalesce(sum(amount) filter (where part = 'added'), 0)::bigint as added,
      -coalesce(sum(amount) filter (where part = 'taken'), 0)::bigint as taken,
      -coalesce(sum(amount) filter (where part = 'charged'), 0)::bigint as charged,
      coalesce(sum(amount) filter (where id > (select entry_id from ledger_proof)), 0)::bigint as unproven
    from entry
  ),
  beside as (
    select wallet.balance, wallet.credited,
      coalesce((select amount from proven_wallets where account_id = of_account), 0) as proven,
      coalesce((select sum(charged) from usage_daily where account_id = of_account), 0)::bigint as counted,
      coalesce((select sum(charged) from quarantine where account_id = of_account::text), 0)::bigint as quarantined
    from wallets wallet where account_id = of_account
  )
  select beside.balance, books.entries, beside.proven + books.unproven, books.last_balance, books.breaks, books.added,
    beside.credited, books.taken, books.charged, beside.counted, beside.quarantined,
    case
      when books.breaks = 0 or (books.added = beside.credited and books.charged = beside.counted) then books.entries
      -- Rows were changed, but not the balances after them.
      when books.last_balance = beside.credited - books.taken - beside.counted then books.last_balance
    end
  from books cross join beside;
end
$$;

-- Sets the balance of a wallet to the proven amount. If the rows do not add up to it, books the difference first: rows never
-- change. `balance_by` and `entries_by` are the differences as an operator saw them: calls do not change them. Returns 'mended',
-- or why nothing was done.
create function mend_wallet(
  of_account uuid, balance_by bigint, entries_by bigint, entry_reference text, entry_reason text
) returns text language plpgsql as $$
declare
  found_books record;
  through bigint;
begin
  perform from wallets where account_id = of_account for update;
  select * into found_books from wallet_evidence(of_account);
  if found_books.proven is null or found_books.proven not between 0 and 9007199254740991 then
    return 'unproven';
  end if;
  if found_books.proven - found_books.balance <> balance_by or found_books.proven - found_books.entries <> entries_by then
    return 'changed';
  end if;
  if entries_by <> 0 then
    insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference, reason)
    values (of_account, 'adjustment', entries_by, found_books.proven, entry_reference, entry_reason);
  end if;
  update wallets set balance = found_books.proven where account_id = of_account;
  select entry_id into through from ledger_proof for update;
  insert into proven_wallets (account_id, amount)
    select of_account, coalesce(sum(amount), 0)::bigint from ledger_entries
    where account_id = of_account and id <= through
    on conflict (account_id) do update set amount = excluded.amount;
  return 'mended';
end
$$;

-- Returns what was charged to a purse: as stored, and by the rows that name it.
create function purse_evidence(of_account uuid, of_name text) returns table (stored bigint, entries bigint, summed bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
begin
  return query
  select coalesce((select purse.charged from purses purse where purse.account_id = of_account and purse.name = of_name), 0),
    coalesce(-sum(entry.amount), 0)::bigint,
    coalesce((
      select proven.charged from proven_purses proven where proven.account_id = of_account and proven.name = of_name
    ), 0) + coalesce(-sum(entry.amount) filter (where entry.id > (select entry_id from ledger_proof)), 0)::bigint
  from ledger_entries entry
  where entry.account_id = of_account and of_name in (select json_array_elements_text(entry.purses));
end
$$;

-- Adds up what was charged to a purse again, from the rows that name it. As `mend_wallet`.
create function mend_purse(of_account uuid, of_name text, stored_by bigint) returns text language plpgsql as $$
declare
  found_books record;
  through bigint;
begin
  perform from wallets where account_id = of_account for update;
  select * into found_books from purse_evidence(of_account, of_name);
  if found_books.entries - found_books.stored <> stored_by then
    return 'changed';
  end if;
  insert into purses (account_id, name, charged) values (of_account, of_name, found_books.entries)
    on conflict (account_id, name) do update set charged = excluded.charged;
  select entry_id into through from ledger_proof for update;
  insert into proven_purses (account_id, name, charged)
    select of_account, of_name, coalesce(-sum(amount), 0)::bigint from ledger_entries
    where account_id = of_account and id <= through and of_name in (select json_array_elements_text(purses))
    on conflict (account_id, name) do update set charged = excluded.charged;
  return 'mended';
end
$$;

-- Months --------------------------------------------------------------------------------------------------------------

-- The months, such as `2026-03`, whose usage records an operator takes out of the ledger. Ledger rows stay.
create table archived_months (
  month text primary key,
  -- `closed`: its records never change again. `detached`: its table is not in `usage_records` any more. `dropped`: it is gone.
  state text not null check (state in ('closed', 'detached', 'dropped')),
  closed_at timestamptz not null default now(),
  detached_at timestamptz,
  -- The contents of the operator's files: see plugins/admin/cli/archive-file.ts.
  manifest json,
  -- The sums of its rows. `digest` is the sum of the first 52 bits of the SHA-256 of each row's line, so that an export can be
  -- compared with the rows in any order.
  rows bigint not null default 0,
  digest numeric not null default 0,
  -- The last row that is added up.
  last json,
  is_added_up boolean not null default false
);

-- The table of a month.
create function usage_part(month text) returns text language sql immutable as $$
  select 'usage_records_' || replace(month, '-', '_')
$$;

-- Records of an archived month are in the operator's files. A new table would have some, and look like all of them.
create function refuse_archived_month(wanted text) returns void language plpgsql as $$
begin
  if exists (select from archived_months where month = wanted) then
    raise exception 'the month % is archived: no call of it can be committed any more', wanted
      using errcode = 'check_violation';
  end if;
end
$$;

-- Returns the least id that a call of this time can have: ids of calls begin with 48 bits of milliseconds (UUID version 7).
create function first_call_id(moment timestamptz) returns uuid language sql immutable as $$
  select rpad(lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Makes the partition for the ids of a month; does nothing if it exists. Many processes may call it at once.
create function make_ledger_partition(moment timestamptz) returns void
language plpgsql set lock_timeout = '2s' as $$
declare
  first_day timestamp := date_trunc('month', moment at time zone 'UTC');
  partition_name text := 'ledger_entries_' || to_char(first_day, 'YYYY_MM');
begin
  if to_regclass(partition_name) is not null
    or moment < '2020-01-01 00:00Z' or moment >= '2100-01-01 00:00Z'
  then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
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

-- Makes both partitions for the calls of a month; does nothing if they exist. Refused for an archived month. Takes its locks
-- in the order of `detach_month`.
create function make_usage_partition(moment timestamptz) returns void
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

-- Returns all months that have usage records or were archived. Rows of open months are estimated.
create function ledger_months() returns table (month text, state text, rows bigint, bytes bigint)
language sql stable as $$
  with parts as (
    select replace(right(relname, 7), '_', '-') as month, sum(greatest(reltuples, 0))::bigint as rows,
      sum(pg_total_relation_size(pg_class.oid))::bigint as bytes
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'usage_records'::regclass
    group by 1
  )
  select month, coalesce(archived.state, 'open'),
    coalesce(case when archived.state <> 'closed' then archived.rows end, parts.rows),
    coalesce(parts.bytes, 0)
  from parts full join archived_months archived using (month)
  order by 1
$$;

create function refuse_closed_month() returns trigger language plpgsql as $$
begin
  raise exception 'the month of % is archived: no call of it can be committed any more', tg_table_name
    using errcode = 'check_violation';
end
$$;

-- Closes a month: from now on its records never change. Calls of it that come later go to quarantine. Returns 'closed', or
-- 'no_month'.
create function close_month(wanted text) returns text
language plpgsql set lock_timeout = '2s' as $$
begin
  -- So that its table is not made until then.
  perform pg_advisory_xact_lock(hashtext('make_usage_partition'));
  if exists (select from archived_months where month = wanted) then
    return 'closed';
  end if;
  if not exists (select from ledger_months() known where known.month = wanted) then
    return 'no_month';
  end if;
  insert into archived_months (month, state) values (wanted, 'closed');
  -- Waits for running commits of this month. A trigger for each row is the only kind that every insert reaches.
  execute format(
    'create trigger month_is_closed before insert on %I for each row execute function refuse_closed_month()',
    usage_part(wanted)
  );
  return 'closed';
end
$$;

-- Opens a closed month again: it takes calls, and is exported from the beginning the next time. Returns false if it is not
-- closed.
create function reopen_month(wanted text) returns boolean language plpgsql set lock_timeout = '2s' as $$
begin
  perform from archived_months where month = wanted and state = 'closed' for update;
  if not found then
    return false;
  end if;
  execute format('drop trigger month_is_closed on %I', usage_part(wanted));
  delete from archived_months where month = wanted;
  return true;
end
$$;

-- Returns the next rows of the table of a closed month, one JSON text each, in the order of their keys. `last_line` is that of
-- the page before. The session's settings do not change the text.
create function archive_lines(part text, last_line json, rows_max integer) returns setof text
language plpgsql stable set timezone = 'UTC' set extra_float_digits = 1 set plan_cache_mode = force_custom_plan as $$
begin
  perform from archived_months where usage_part(month) = part;
  if not found then
    raise exception 'the table % is of no closed month', part using errcode = 'no_data_found';
  end if;
  return query execute format(
    'select row_to_json(entry)::text from %I entry where (at, call_id) > ($1, $2) order by at, call_id limit $3', part
  ) using
    coalesce((last_line->>'at')::timestamptz, '-infinity'),
    coalesce((last_line->>'call_id')::uuid, '00000000-0000-0000-0000-000000000000'), rows_max;
end
$$;

-- Adds up the next rows of a closed month. Returns how many, 0 once all are added up.
create function add_up_month(wanted text, rows_max integer) returns integer language plpgsql as $$
declare
  known archived_months;
  added integer;
  added_digest numeric;
  last_line json;
begin
  select * into known from archived_months where month = wanted and state = 'closed' and not is_added_up for update;
  if not found then
    return 0;
  end if;
  with page as materialized (
    select line::json as line, n,
      ('x' || left(encode(sha256(convert_to(line, 'UTF8')), 'hex'), 13))::bit(52)::bigint as digest
    from archive_lines(usage_part(wanted), known.last, rows_max) with ordinality lines (line, n)
  )
  select count(*), coalesce(sum(digest), 0), (select line from page order by n desc limit 1)
    into added, added_digest, last_line from page;
  update archived_months set rows = rows + added, digest = digest + added_digest,
    last = coalesce(last_line, last), is_added_up = added < rows_max
    where month = wanted;
  return greatest(added, 1);
end
$$;

-- Takes the table of a closed month out of the usage records: in one transaction, with a short lock. `exported` has the rows
-- and the digest of the operator's file. Returns 'detached', or why nothing was done.
create function detach_month(wanted text, exported json) returns text
language plpgsql set lock_timeout = '2s' as $$
declare
  known archived_months;
begin
  select * into known from archived_months where month = wanted for update;
  if not found then
    return 'no_month';
  elsif known.state <> 'closed' then
    return 'detached';
  elsif not known.is_added_up then
    return 'not_added_up';
  elsif not exists (
    select from json_to_recordset(exported->'tables') as file (name text, rows bigint, digest numeric)
    where file.name = usage_part(wanted) and file.rows = known.rows and file.digest = known.digest
  ) then
    return 'other_rows';
  end if;
  execute format('alter table usage_records detach partition %I', usage_part(wanted));
  update archived_months set state = 'detached', detached_at = now(), manifest = exported where month = wanted;
  return 'detached';
end
$$;

-- Deletes the table of a detached month. Returns the state of the month after that.
create function drop_month(wanted text) returns text language plpgsql set lock_timeout = '2s' as $$
begin
  perform from archived_months where month = wanted and state = 'detached' for update;
  if not found then
    return coalesce((select state from archived_months where month = wanted), 'open');
  end if;
  execute format('drop table if exists %I', usage_part(wanted));
  update archived_months set state = 'dropped' where month = wanted;
  return 'dropped';
end
$$;
