-- The data folder whose gateway keeps the balances of this ledger in its memory (`stores.hot: embedded`). Only its
-- journal has the posted calls that are not committed, so no other gateway may load wallets meanwhile. One row at most:
-- none if the balances are in Redis, or if the last such gateway has stopped with every call committed.
create table balances_owner (
  is_only boolean primary key default true check (is_only),
  -- The id of the data folder, which is a file in it.
  folder text not null,
  -- The process that uses the folder, or used it last; another session takes over by replacing it.
  session text not null,
  -- Host, process and path of the folder, for operators.
  place text not null,
  -- Rises while the process runs.
  beats bigint not null default 0,
  at timestamptz not null default now()
);
