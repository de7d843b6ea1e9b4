-- Counts the commit that runs in this transaction, as `count_commit` does, and returns `commits` and the `generation` to
-- which the commit belongs. `begin_generation` waits for the commits that are counted and holds up those that are not. So
-- the generation is read after the count.
create or replace function count_commit_of_generation(commit_writer uuid, commits_confirmed bigint) returns json
language plpgsql as $$
declare
  counted bigint := count_commit(commit_writer, commits_confirmed);
begin
  return json_build_object(
    'commits', counted,
    'generation', (select coalesce(max(generation), 0) from ledger_generations)
  );
end
$$;

-- Begins a generation above every one in the ledger, and above `above`.
create or replace function begin_generation(above bigint) returns void
language plpgsql as $$
begin
  lock table ledger_writers in share mode;
  insert into ledger_generations (generation)
  select greatest(coalesce(max(generation), 0), above) + 1 from ledger_generations;
end
$$;
