-- works with: 0023-limits-in-charges
--
-- A restore ends the epochs of the hold store, whose wallets were loaded before the ledger went back. The ledger knows the
-- latest of them for good: Redis may lose that it ended one, as by a fail-over, and have its wallets again.
alter table ledger_generations add column ended_epoch bigint not null default 0;

-- Begins a generation above every one in the ledger, and above `above`. Epochs up to `ended` are over.
create function begin_generation(above bigint, ended bigint) returns void
language plpgsql as $$
begin
  lock table ledger_writers in share mode;
  insert into ledger_generations (generation, ended_epoch)
  select greatest(coalesce(max(generation), 0), above) + 1, ended from ledger_generations;
end
$$;
