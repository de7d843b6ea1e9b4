-- What plugins' migrations may call, so that no plugin names a table of core but in a foreign key to accounts (id).

-- Locks an account until the transaction ends, so that changes of what belongs to it wait for one another. False if
-- there is no such account. New rows that reference the account do not wait.
create function lock_account(locked_account uuid) returns boolean language plpgsql as $$
begin
  perform from accounts where id = locked_account for no key update;
  return found;
end
$$;

-- True if the ledger has this very top-up.
create function has_topup(
  topup_reference text, topup_account uuid, topup_amount bigint
) returns boolean language plpgsql as $$
begin
  return exists (
    select from ledger_entries entry
    where entry.reference = topup_reference and entry.kind = 'topup'
      and entry.account_id = topup_account and entry.amount = topup_amount
  );
end
$$;

-- An account's top-ups are summed without reading through its charges. The plugin `topup` made this index before; a
-- new database gets it here, and the plugin drops its own.
do $$
begin
  if to_regclass('ledger_entries_topups') is not null then
    alter index ledger_entries_topups rename to ledger_entries_topped_up;
  else
    create index ledger_entries_topped_up on ledger_entries (account_id, at)
      include (amount, reference) where kind = 'topup';
  end if;
end
$$;
