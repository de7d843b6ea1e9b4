-- Vouchers: batches of codes that operators make, and what customers redeem. Money is bigint µđ.

create table vouchers_batches (
  id uuid primary key,
  amount bigint not null check (amount > 0),
  codes integer not null check (codes > 0),
  -- How many customers can redeem one code.
  uses integer not null check (uses > 0),
  -- True if a customer can redeem only one code of the batch.
  once_per_customer boolean not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > starts_at),
  note text not null,
  created_at timestamptz not null,
  -- Null while a batch that is worth much waits for a second person.
  opened_at timestamptz,
  cancelled_at timestamptz
);

-- Codes are not stored: an operator who has lost them cancels the batch and makes another. 100 random bits cannot be guessed
-- from their hash.
create table vouchers_codes (
  hash bytea primary key check (length(hash) = 32),
  batch uuid not null references vouchers_batches,
  -- The first characters of the code, to name it.
  prefix text not null,
  uses_left integer not null check (uses_left >= 0)
);

-- A redemption takes a use of the code first, then the ledger credits it under its reference, then it is marked as credited.
create table vouchers_redemptions (
  sequence bigint generated always as identity unique,
  code bytea not null references vouchers_codes,
  account_id uuid not null references accounts,
  batch uuid not null references vouchers_batches,
  amount bigint not null,
  reference text not null generated always as (
    'voucher:' || left(encode(code, 'hex'), 32) || ':' || account_id::text
  ) stored,
  redeemed_at timestamptz not null,
  credited_at timestamptz,
  primary key (code, account_id)
);

create index vouchers_redemptions_batch on vouchers_redemptions (batch, sequence);
create index vouchers_redemptions_account on vouchers_redemptions (account_id, batch);
create index vouchers_redemptions_pending on vouchers_redemptions (sequence) where credited_at is null;

-- Takes a use of a code for a customer. Returns `claimed`; `before` if this customer has it already; `once` if the batch gives
-- each customer one; `invalid` for everything else. The locks make the counts exact, and are always taken in this order.
create function redeem_voucher(wanted bytea, customer uuid, redeemed timestamptz) returns text language plpgsql as $$
declare
  found_code vouchers_codes;
  found_batch vouchers_batches;
begin
  -- A guess locks nothing.
  if not exists (select from vouchers_codes where hash = wanted) or not lock_account(customer) then
    return 'invalid';
  end if;
  select * into found_code from vouchers_codes where hash = wanted for no key update;
  if exists (select from vouchers_redemptions where code = wanted and account_id = customer) then
    return 'before';
  end if;
  -- A batch is not cancelled until its running redemptions have ended.
  select * into found_batch from vouchers_batches where id = found_code.batch for share;
  if found_code.uses_left = 0 or found_batch.opened_at is null or found_batch.cancelled_at is not null
    or redeemed < found_batch.starts_at or redeemed >= found_batch.ends_at then
    return 'invalid';
  end if;
  if found_batch.once_per_customer and exists (
    select from vouchers_redemptions where account_id = customer and batch = found_batch.id
  ) then
    return 'once';
  end if;
  update vouchers_codes set uses_left = uses_left - 1 where hash = wanted;
  insert into vouchers_redemptions (code, account_id, batch, amount, redeemed_at)
  values (wanted, customer, found_batch.id, found_batch.amount, redeemed);
  return 'claimed';
end
$$;

-- Gives the use of a code back: the wallet refused the credit for good.
create function give_back_voucher(wanted bytea, customer uuid) returns void language plpgsql as $$
begin
  delete from vouchers_redemptions where code = wanted and account_id = customer and credited_at is null;
  if found then
    update vouchers_codes set uses_left = uses_left + 1 where hash = wanted;
  end if;
end
$$;

-- Credited is only what the ledger has, and what the ledger has is never forgotten.
create function guard_voucher_redemption() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    raise exception 'redemptions are never dropped' using errcode = 'restrict_violation';
  end if;
  if (tg_op = 'DELETE') = has_movement(old.reference, old.account_id, old.amount) then
    raise exception 'redemption % and the ledger would differ', old.reference using errcode = 'restrict_violation';
  end if;
  return coalesce(new, old);
end
$$;

create trigger vouchers_redemptions_guard before update or delete on vouchers_redemptions
  for each row execute function guard_voucher_redemption();
create trigger vouchers_redemptions_kept before truncate on vouchers_redemptions
  for each statement execute function guard_voucher_redemption();
