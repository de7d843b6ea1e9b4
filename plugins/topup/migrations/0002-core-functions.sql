-- The same functions as before, but they reach core's tables by core's functions.

-- The lock on the account makes the counts exact: of two orders at once, the second sees the first.
create or replace function create_topup_order(
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

-- A credited transfer is history, what the bank said never changes, and credited is only what the ledger has:
-- together with the ledger's unique reference, no transfer can be given twice or be called given when it was not.
create or replace function guard_bank_transfer() returns trigger language plpgsql as $$
begin
  if tg_op <> 'UPDATE' then
    raise exception 'bank_transfers keeps every row: % is refused', lower(tg_op)
      using errcode = 'restrict_violation';
  end if;
  if old.state = 'credited' then
    raise exception 'transfer % is credited: a change is refused', old.id
      using errcode = 'restrict_violation';
  end if;
  if (new.id, new.sequence, new.incoming, new.payload, new.received_at)
      is distinct from (old.id, old.sequence, old.incoming, old.payload, old.received_at)
    or new.amount is distinct from old.amount then
    raise exception 'transfer % was told by the bank: a change is refused', old.id
      using errcode = 'restrict_violation';
  end if;
  if new.state = 'credited' and not has_topup('transfer:' || new.id, new.account_id, new.amount) then
    raise exception 'transfer % is not in the ledger: it cannot be called credited', new.id
      using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

-- Core has this index now, under a name of its own.
drop index if exists ledger_entries_topups;
