-- Top-ups: orders that customers pay, and the bank's notifications of transfers. Money is bigint µđ.

create table topup_orders (
  id uuid primary key,
  account_id uuid not null references accounts,
  code text not null unique check (code ~ '^[A-Z0-9]{6,25}$'),
  amount bigint not null check (amount > 0),
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  cancelled_at timestamptz
);

create index topup_orders_account on topup_orders (account_id, id);
-- For a transfer without a code: unpaid orders of its amount.
create index topup_orders_amount on topup_orders (amount, created_at);

-- Every transfer that the bank has reported, once each. Rows stay for ever.
create table bank_transfers (
  -- SePay's id: a notification that is sent again changes nothing. Of a row of a statement without it, a digest.
  id text primary key check (id <> ''),
  sequence bigint generated always as identity unique,
  -- Counts the accounts that it was given to: one more each time that it was taken back from a wrong one.
  round integer not null default 1 check (round > 0),
  -- Of its credit in the ledger.
  reference text not null generated always as (
    'transfer:' || id || case when round > 1 then ':' || round else '' end
  ) stored,
  state text not null check (state in ('matched', 'credited', 'unmatched', 'ignored', 'returned')),
  -- Why it is in this state, in one word for programs.
  cause text not null,
  account_id uuid references accounts,
  order_id uuid references topup_orders,
  incoming boolean not null,
  -- Null if the notification has no valid amount.
  amount bigint check (amount > 0),
  bank text,
  account_number text,
  content text,
  bank_reference text,
  bank_time text,
  -- The day in Vietnam of bank_time; null if it has none.
  bank_day date,
  -- The notification as it came, byte by byte; of a statement, the row.
  payload bytea not null,
  source text not null check (source in ('webhook', 'poll', 'import')),
  -- The transfer that this one may be, reported by another source; an operator has to find out.
  alike text references bank_transfers,
  received_at timestamptz not null default now(),
  credited_at timestamptz,
  -- What an operator has decided, and why.
  decided_at timestamptz,
  decision text,
  check (state not in ('matched', 'credited') or (incoming and account_id is not null and amount is not null)),
  check ((state = 'credited') = (credited_at is not null)),
  check ((decided_at is null) = (decision is null))
);

create index bank_transfers_order on bank_transfers (order_id) where order_id is not null;
create index bank_transfers_state on bank_transfers (state, sequence);
-- Operators look for the transfers of a customer, and by the bank's reference.
create index bank_transfers_account on bank_transfers (account_id, sequence) where account_id is not null;
create index bank_transfers_bank_reference on bank_transfers (bank_reference) where bank_reference is not null;
create index bank_transfers_amount on bank_transfers (amount, sequence);
create index bank_transfers_day on bank_transfers (amount, bank_day);

-- SePay's ids of transfers that a statement without these ids reported first.
create table bank_transfer_ids (
  id text primary key,
  transfer text not null unique references bank_transfers
);

-- Returns true if the transfer was recorded, and false if its id is known or a transfer of the same amount was recorded after
-- `seen`: the caller has to compare it with that one. The lock makes this exact: of two reports at once, the second sees the
-- first.
create function record_bank_transfer(
  seen bigint, transfer_id text, hindrance text, codes text[], alike_id text, is_incoming boolean, transfer_amount bigint,
  bank_name text, account text, transfer_content text, reference_code text, told_at text, told_day date, original bytea,
  reported_by text
) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('bank_transfers', coalesce(transfer_amount, 0)));
  if exists (select from bank_transfers t where t.amount = transfer_amount and t.sequence > seen) then
    return false;
  end if;
  insert into bank_transfers (
    id, state, cause, account_id, order_id, alike, incoming, amount, bank, account_number, content, bank_reference, bank_time,
    bank_day, payload, source
  )
  select transfer_id,
    case when hindrance = 'outgoing' then 'ignored' when owner.orders = 1 then 'matched' else 'unmatched' end,
    case
      when hindrance is not null then hindrance
      when owner.orders = 1 then 'code'
      when owner.orders > 1 then 'several_orders'
      when codes = '{}' then 'no_code'
      else 'unknown_code'
    end,
    case when owner.orders = 1 then owner.account_id end, case when owner.orders = 1 then owner.id end,
    alike_id, is_incoming, transfer_amount, bank_name, account, transfer_content, reference_code, told_at, told_day, original,
    reported_by
  from (
    select count(*) as orders, (array_agg(o.id))[1] as id, (array_agg(o.account_id))[1] as account_id
    from topup_orders o where o.code = any (codes) and hindrance is null
  ) owner
  on conflict (id) do nothing;
  return found;
end
$$;

-- How far SePay's list has been read, and when a gateway reads it again. One row, once a gateway has begun.
create table transfer_poll (
  single boolean primary key default true check (single),
  -- The time of the transfers with which the next turn begins; null before the first time.
  read_from timestamptz,
  -- When it was last read to its end.
  polled_at timestamptz,
  next_at timestamptz not null,
  failures integer not null default 0
);

-- The lock on the account makes the counts exact: of two orders at once, the second sees the first.
create function create_topup_order(
  order_id uuid, order_account uuid, order_code text, order_amount bigint,
  created timestamptz, expires timestamptz, open_max integer, day_max integer
) returns text language plpgsql as $$
begin
  if not lock_account(order_account) then
    return 'no_account';
  end if;
  if (
    select count(*) from topup_orders o
    where o.account_id = order_account and o.cancelled_at is null and o.expires_at > created
      and not exists (select from bank_transfers t where t.order_id = o.id)
  ) >= open_max then
    return 'too_many_open';
  end if;
  if (
    select count(*) from topup_orders o
    where o.account_id = order_account and o.created_at > created - interval '24 hours'
  ) >= day_max then
    return 'too_many_today';
  end if;
  insert into topup_orders (id, account_id, code, amount, created_at, expires_at)
  values (order_id, order_account, order_code, order_amount, created, expires)
  on conflict (code) do nothing;
  return case when found then 'created' else 'code_taken' end;
end
$$;

-- Bonuses that transfers have earned by promotions with dates. They are decided once, after the ledger has the transfer, and
-- are in the ledger before the transfer is called credited.
create table topup_bonuses (
  -- The reference of the transfer in the ledger.
  top_up text not null,
  name text not null check (name ~ '^[a-z0-9-]+$'),
  account_id uuid not null references accounts,
  amount bigint not null check (amount > 0),
  title text not null,
  -- Of the bonus in the ledger.
  reference text not null generated always as ('bonus:' || name || ':' || top_up) stored,
  primary key (top_up, name)
);

create index topup_bonuses_account on topup_bonuses (account_id, name);

-- Returns the bonuses of a transfer that the ledger has. `offers` are those that its amount and day allow; the first call
-- decides which count: the best one, and those that add up. The lock makes "once" and "first" exact.
create function decide_bonuses(transfer_id text, offers json) returns setof topup_bonuses language plpgsql as $$
declare
  transfer bank_transfers;
  offer record;
  has_best boolean := false;
begin
  select * into transfer from bank_transfers where id = transfer_id;
  perform lock_account(transfer.account_id);
  -- A statement of its own: one that waits for the lock does not see what its holder has written.
  if not exists (select from topup_bonuses where top_up = transfer.reference) then
    for offer in
      select * from json_to_recordset(offers) as offered (name text, title text, amount bigint, applies text, adds_up boolean)
      order by amount desc, name
    loop
      continue when has_best and not offer.adds_up;
      continue when offer.applies <> 'each_time' and exists (
        select from topup_bonuses before
        where before.account_id = transfer.account_id and before.name = offer.name and taken_back_of(before.reference) < before.amount
      );
      continue when offer.applies = 'first_top_up' and exists (
        select from bank_transfers before
        where before.account_id = transfer.account_id and before.sequence < transfer.sequence
          and before.state in ('matched', 'credited')
      );
      insert into topup_bonuses (top_up, name, account_id, amount, title)
      values (transfer.reference, offer.name, transfer.account_id, offer.amount, offer.title);
      has_best := has_best or not offer.adds_up;
    end loop;
  end if;
  return query select * from topup_bonuses where top_up = transfer.reference order by name;
end
$$;

create function guard_topup_bonus() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' or has_movement(old.reference, old.account_id, old.amount) then
    raise exception 'a bonus never changes once the ledger has it: % is refused', lower(tg_op)
      using errcode = 'restrict_violation';
  end if;
  return old;
end
$$;

create trigger topup_bonuses_guard before update or delete on topup_bonuses
  for each row execute function guard_topup_bonus();

-- A credited transfer is history until the ledger has it taken back or its wallet is empty, what the bank said never changes,
-- and credited is only what the ledger has, bonuses included: together with the ledger's unique reference, no transfer can
-- be given twice or be called given when it was not.
create function guard_bank_transfer() returns trigger language plpgsql as $$
begin
  if tg_op <> 'UPDATE' then
    raise exception 'bank_transfers keeps every row: % is refused', lower(tg_op)
      using errcode = 'restrict_violation';
  end if;
  if old.state = 'credited' and not (
    new.state = 'unmatched' and new.round = old.round + 1 and was_taken_back(old.reference)
  ) then
    raise exception 'transfer % is credited: a change is refused', old.id
      using errcode = 'restrict_violation';
  end if;
  if old.state = 'returned' then
    raise exception 'transfer % was sent back: a change is refused', old.id
      using errcode = 'restrict_violation';
  end if;
  if old.state <> 'credited' and new.round <> old.round then
    raise exception 'transfer % is not credited: it cannot be given again', old.id
      using errcode = 'restrict_violation';
  end if;
  if (new.id, new.sequence, new.incoming, new.payload, new.source, new.received_at)
      is distinct from (old.id, old.sequence, old.incoming, old.payload, old.source, old.received_at)
    or new.amount is distinct from old.amount then
    raise exception 'transfer % was told by the bank: a change is refused', old.id
      using errcode = 'restrict_violation';
  end if;
  if new.state = 'credited' and not has_movement(old.reference, new.account_id, new.amount) then
    raise exception 'transfer % is not in the ledger: it cannot be called credited', new.id
      using errcode = 'restrict_violation';
  end if;
  if new.state = 'credited' and exists (
    select from topup_bonuses bonus
    where bonus.top_up = old.reference and not has_movement(bonus.reference, bonus.account_id, bonus.amount)
  ) then
    raise exception 'a bonus of transfer % is not in the ledger: it cannot be called credited', new.id
      using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create trigger bank_transfers_guard before update or delete on bank_transfers
  for each row execute function guard_bank_transfer();
create trigger bank_transfers_kept before truncate on bank_transfers
  for each statement execute function guard_bank_transfer();
