-- Calls that the gateway refused itself, such as for an empty wallet, so that a customer can see why calls failed.
-- Counts, not a row for each: a client that is refused tries again and again.
create table refused_calls (
  account_id uuid not null,
  -- In Vietnam (Asia/Ho_Chi_Minh).
  day date not null,
  key_id uuid not null,
  status smallint not null,
  -- A code, the type of the error, or the field at fault.
  cause text not null check (length(cause) between 1 and 40),
  calls bigint not null,
  last_at timestamptz not null,
  primary key (account_id, day, key_id, status, cause)
) with (fillfactor = 50);

-- The last refused calls of each account, newest first, a fixed number of them.
create table last_refused_calls (
  account_id uuid primary key,
  calls jsonb not null
) with (fillfactor = 50);
