-- ARGV: epoch, youngest age at which wallets may be loaded (ms). Allows it once nobody is on its way here with
-- posts of earlier epochs, and no outbox of an earlier epoch is left. 1 where it is allowed.
if epoch ~= ARGV[3] or call('HEXISTS', key('procs'), me) == 0 then
  return 0
end
if now() - tonumber(epoch) < tonumber(ARGV[4]) or call('HLEN', key('joining')) > 0 then
  return 0
end
local orphans = call('HKEYS', base .. 'orphans')
for at = 1, #orphans do
  if string.match(orphans[at], '^(%d+)|') ~= epoch then
    return 0
  end
end
call('SET', key('open'), '1')
return 1
