-- ARGV: outbox as "epoch|process", its claimer so far. 1 where it is this process's to commit now.
if call('HGET', base .. 'orphans', ARGV[3]) ~= ARGV[4] then
  return 0
end
call('HSET', base .. 'orphans', ARGV[3], me)
return 1
