-- What a call's cost is made of: price, quantity, each discount by name, fees, the catalogue that the price comes from,
-- and what the provider takes from the operator. Null where it is not known (calls from before this migration), and,
-- to keep rows small, where it says nothing: no discounts, no fees, a quantity that the other columns give.
alter table usage_records
  add column unit text,
  add column catalogue_version text,
  add column unit_price bigint,
  add column quantity bigint,
  add column discounts json,
  add column fees bigint,
  add column operator_cost bigint,
  add column operator_currency text,
  add column operator_rate bigint,
  add column costs_version text;

-- Commits a batch: as before, but the columns of a record are those of the table, so that a new one needs no new
-- function. An entry of a gateway that does not know a column leaves it null.
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
    select record, (record).call_id, (record).account_id, (record).charged, row_number() over () as n
    from json_populate_recordset(null::usage_records, batch) record
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
  insert into usage_records
  select (input.record).*
  from input
  where charged = 0 or call_id in (select call_id from fresh)
  on conflict (at, call_id) do nothing;
end
$$;
