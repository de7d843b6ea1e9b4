-- Work that one process does for all: when it is due next, and the last result as JSON. A run that has begun is due again
-- when its process counts as dead.
create table claimed_runs (
  name text primary key,
  due_at timestamptz not null default now(),
  finished_at timestamptz,
  result json
);

insert into claimed_runs (name) values ('reconciliation'), ('ages');

-- What became of calls, and of attempts at upstreams, by the minute in which the call began; kept for two days. Every gateway
-- adds its counts every few seconds, apart from commits.
create table traffic_minutes (
  at timestamptz not null,
  -- Empty for the calls of customers; else the attempts at this upstream.
  upstream text not null,
  -- `served`; `failed` for calls that no upstream served; else why a call was refused, or an attempt failed.
  cause text not null check (length(cause) <= 60),
  calls bigint not null,
  -- Of attempts that served: how many had their first byte in each range of time (see traffic-counter.ts).
  first_bytes bigint[] not null,
  primary key (at, upstream, cause)
) with (fillfactor = 50);
