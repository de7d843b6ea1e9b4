-- Claims an orphaned outbox. ARGV: outbox as "epoch|process", its claimer so far. Returns 1 if this process now has to
-- commit it; 0 if another process was faster.
if call('HGET', base .. 'orphans', ARGV[3]) ~= ARGV[4] then
  return 0
end
call('HSET', base .. 'orphans', ARGV[3], me)
changed()
return 1
