-- works with: 0001-reconciliation
--
-- Work that one process does for all: when it began and ended last, whichever process did it, and its result as JSON.
create table claimed_runs (
  name text primary key,
  started_at timestamptz not null default 'epoch',
  finished_at timestamptz,
  result json
);

insert into claimed_runs (name) values ('reconciliation'), ('ages');
