-- works with: 0023-limits-in-charges
--
-- A call is in the ledger or in quarantine. Two gateways may have it in hand: one commits it, and one that cannot read it puts
-- it into quarantine. Each locks the wallet, and then looks into the other book by a statement of its own, in these functions:
-- a statement that has waited for the lock sees the books as they were before.

-- Stores an entry. Returns false, and stores nothing, if its call is charged, or in quarantine already.
create or replace function quarantine_call(
  locked_account uuid, settled_call uuid, stored_call text, stored_account text, stored_charge bigint,
  stored_limits json, stored_entry text, stored_error text
) returns boolean language plpgsql as $$
begin
  perform from wallets where account_id = locked_account for update;
  if exists (select from ledger_entries where call_id = settled_call) then
    return false;
  end if;
  insert into quarantine (call_id, account_id, charged, limits, entry, error)
  values (stored_call, stored_account, stored_charge, stored_limits, stored_entry, stored_error)
  on conflict (call_id) do nothing;
  return found;
end
$$;

-- Takes calls out of quarantine. Their wallets are locked by `settle_calls`, in the same transaction.
create or replace function leave_quarantine(settled_calls text[]) returns void language plpgsql as $$
begin
  delete from quarantine where call_id = any (settled_calls);
end
$$;
