-- Work that one process does for all: when it is due next, and the last result as JSON. A run that has begun is due again
-- when its process counts as dead.
create table claimed_runs (
  name text primary key,
  due_at timestamptz not null default now(),
  finished_at timestamptz,
  result json
);

insert into claimed_runs (name) values ('reconciliation'), ('ages');
