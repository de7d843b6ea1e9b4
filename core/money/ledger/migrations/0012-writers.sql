-- Counts the commits of each gateway process. Gateways and the hold store remember the counts that were confirmed, so a
-- ledger that lost commits shows: one of its counts is lower. One count for all would not show it. A process that has
-- not noticed yet would raise it again.
create table ledger_writers (
  writer uuid primary key,
  commits bigint not null,
  at timestamptz not null default now()
) with (fillfactor = 50);

-- An operator who accepts what the ledger lost begins a new generation.
create table ledger_generations (
  generation bigint primary key check (generation > 0),
  at timestamptz not null default now()
);

-- Counts the commit that runs in this transaction, and returns the count. Raises if the ledger lacks commits of this
-- writer, which rolls the commit back. Call it last: the other locks of the transaction come first.
create function count_commit(commit_writer uuid, commits_confirmed bigint) returns bigint
language plpgsql as $$
declare
  counted bigint;
begin
  insert into ledger_writers as counts (writer, commits) values (commit_writer, 1)
  on conflict (writer) do update set commits = counts.commits + 1, at = now()
  returning counts.commits into counted;
  if counted <= commits_confirmed then
    raise exception 'the ledger has % commits of %, and had confirmed %',
      counted - 1, commit_writer, commits_confirmed using errcode = 'TG001';
  end if;
  return counted;
end
$$;
