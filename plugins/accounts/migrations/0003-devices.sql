-- Browsers in which an account has signed in before. Their attempts have a limit of their own, so that strangers who
-- guess at an account cannot keep its owner out.
create table account_devices (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  account_id uuid not null references accounts,
  seen_at timestamptz not null
);

create index account_devices_account on account_devices (account_id, seen_at);
