-- ARGV: epoch expected, epoch that the new one must exceed. Ends an epoch in which something was lost: its
-- wallets and holds go, and its outboxes stay for whoever claims them.
if epoch ~= ARGV[3] then
  return ''
end
local processes = call('HKEYS', key('procs'))
for at = 1, #processes do
  leave_outbox(processes[at], '')
end
for _, name in ipairs({ 'w', 'holds', 'procs', 'beats', 'verified', 'reaped', 'joining', 'open' }) do
  call('UNLINK', key(name))
end
begin(math.max(tonumber(epoch), tonumber(ARGV[4])))
return epoch
