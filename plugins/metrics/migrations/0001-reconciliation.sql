-- One row: the reconciliation that runs, or ran last, whichever process did it.
create table reconciliation (
  only_row boolean primary key default true check (only_row),
  started_at timestamptz not null,
  finished_at timestamptz,
  wallets bigint not null default 0,
  drifting bigint not null default 0,
  -- µđ, without signs.
  drift bigint not null default 0
);

insert into reconciliation (started_at) values ('epoch');
