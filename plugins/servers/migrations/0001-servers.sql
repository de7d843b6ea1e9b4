-- The processes that share the ledger, and what each of them serves by. `since`: since when it serves by that.
create table servers (
  id uuid primary key,
  host text not null,
  address text not null,
  build text not null,
  catalogue text not null,
  config text not null,
  -- Why its build would not start again on this database; null if it would.
  schema_problem text,
  since timestamptz not null,
  seen_at timestamptz not null
);

-- The backups of this database, as the script that makes them records each, once it has read the file to its end.
create table backups (
  at timestamptz primary key default now(),
  bytes bigint not null check (bytes > 0)
);
