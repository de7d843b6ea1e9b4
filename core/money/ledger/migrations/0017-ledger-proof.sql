-- What `reconcile` has added up: of each wallet the sum of its ledger rows up to one id, so that it reads only the rows
-- after it. Without this, one statement adds up all rows of a thousand wallets, and takes longer every day.
create table ledger_proof (
  entry_id bigint not null,
  is_only boolean primary key default true check (is_only)
);
insert into ledger_proof values (0);

create table proven_wallets (
  account_id uuid primary key,
  -- In µđ.
  amount bigint not null
);

-- Adds up the next ledger rows, at most so many, and none after `through`. No transaction may be open that can still
-- write a row up to `through`. Returns the id up to which all rows are added up.
create function prove_ledger(through bigint, rows_max integer) returns bigint language plpgsql as $$
declare
  proven bigint;
  page_end bigint;
begin
  select entry_id into proven from ledger_proof for update;
  select id into page_end from ledger_entries
    where id > proven and id <= through order by id offset rows_max - 1 limit 1;
  page_end := greatest(proven, coalesce(page_end, through));
  insert into proven_wallets as wallet
    select account_id, sum(amount)::bigint from ledger_entries
    where id > proven and id <= page_end group by account_id
    on conflict (account_id) do update set amount = wallet.amount + excluded.amount;
  update ledger_proof set entry_id = page_end;
  return page_end;
end
$$;

create function restart_ledger_proof() returns void language sql as $$
  update ledger_proof set entry_id = 0;
  delete from proven_wallets;
$$;
