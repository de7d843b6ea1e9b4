-- Allows wallets to be loaded in this epoch. Until then some posts of earlier epochs may be missing in the ledger:
-- a joining process still commits its own, and an orphaned outbox still has entries.
-- ARGV: epoch. Returns 1 if loads are allowed.
if epoch ~= ARGV[3] or call('HEXISTS', key('procs'), me) == 0 then
  return 0
end
if call('HLEN', key('joining')) > 0 then
  return 0
end
local orphans = call('HKEYS', base .. 'orphans')
for at = 1, #orphans do
  if string.match(orphans[at], '^(%d+)|') ~= epoch then
    return 0
  end
end
call('SET', key('open'), '1')
changed()
return 1
