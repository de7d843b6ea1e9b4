-- Every operation on money is one statement for its client, and so a transaction that no client can leave
-- half way: a gateway that is frozen or cut off holds no lock on a wallet.

-- Settles a batch: `account_ids` are the accounts in it, `batch` is a JSON array of usage records, each call
-- once. Wallets are locked in the order of their ids, so that two batches wait for one another but never in
-- a circle. Calls that are in the ledger already change nothing: both writers have locked the same wallet,
-- so the later one sees the row of the earlier.
-- Plans are made anew each time: a plan kept from when the tables were small reads them from end to end.
create function settle_calls(account_ids uuid[], batch json) returns void
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
    select * from rows from (
      json_to_recordset(batch) as (
        call_id uuid, at timestamptz, account_id uuid, key_id uuid, endpoint text, model text,
        mapped_from text, upstream text, input_tokens bigint, cache_read_tokens bigint,
        cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, images integer,
        charged bigint, written_off bigint, discount_bps integer, latency_ms double precision,
        first_byte_ms double precision, status smallint, streamed boolean, outcome text, estimated boolean
      )
    ) with ordinality as input (
      call_id, at, account_id, key_id, endpoint, model, mapped_from, upstream, input_tokens,
      cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, images, charged,
      written_off, discount_bps, latency_ms, first_byte_ms, status, streamed, outcome, estimated, n
    )
  ),
  fresh as materialized (
    select call_id, account_id, charged, n from input
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
  )
  insert into usage_records (
    call_id, at, account_id, key_id, endpoint, model, mapped_from, upstream, input_tokens,
    cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, images, charged,
    written_off, discount_bps, latency_ms, first_byte_ms, status, streamed, outcome, estimated
  )
  select
    call_id, at, account_id, key_id, endpoint, model, mapped_from, upstream, input_tokens,
    cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, images, charged,
    written_off, discount_bps, latency_ms, first_byte_ms, status, streamed, outcome, estimated
  from input
  where charged = 0 or call_id in (select call_id from fresh)
  on conflict (at, call_id) do nothing;
end
$$;

-- A movement other than a call. Answers 'credited', 'repeated', or why nothing was done.
create function credit_wallet(
  credited_account uuid, movement_kind text, movement bigint, movement_reference text, movement_reason text
) returns text language plpgsql as $$
declare
  balance_before bigint;
  earlier ledger_entries;
begin
  select balance into balance_before from wallets where account_id = credited_account for update;
  if not found then
    return 'no_account';
  end if;
  select * into earlier from ledger_entries where reference = movement_reference;
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
  insert into ledger_entries (account_id, kind, amount, balance_after, reference, reason)
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

-- The lock on the account makes the count exact: of two keys at once, the second sees the first.
create function create_api_key(
  key_id uuid, key_account uuid, key_name text, key_hash bytea, key_prefix text, active_keys_max integer
) returns text language plpgsql as $$
begin
  perform from accounts where id = key_account for update;
  if not found then
    return 'no_account';
  end if;
  if (
    select count(*) from api_keys where account_id = key_account and status = 'active'
  ) >= active_keys_max then
    return 'too_many_keys';
  end if;
  insert into api_keys (id, account_id, name, hash, prefix)
  values (key_id, key_account, key_name, key_hash, key_prefix);
  return 'created';
end
$$;
