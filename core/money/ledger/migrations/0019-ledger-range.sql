-- Reads the whole ledger, and blocks no commit meanwhile: so that 0020 need not read it while it blocks them.
do $$
begin
  execute (
    select format('alter table ledger_entries validate constraint %I', conname) from pg_constraint
    where conrelid = 'ledger_entries'::regclass and conname like 'ledger\_entries\_before\_%'
  );
end
$$;
