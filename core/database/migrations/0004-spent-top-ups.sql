-- works with: 0003-usage

-- Returns true if some of a top-up was taken back, or its wallet has nothing to take: no calls hold any of it either, which
-- may come back. For migrations of plugins.
create or replace function was_taken_back(topup_reference text) returns boolean language plpgsql as $$
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
