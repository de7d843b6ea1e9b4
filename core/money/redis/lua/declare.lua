-- Ends an epoch that lost data, and begins a new one. Deletes the wallets and holds of the old epoch; its outboxes
-- become orphans, to be claimed.
-- ARGV: epoch expected, epoch that the new one must exceed. Returns the new epoch, or '' if the epoch had changed.
if epoch ~= ARGV[3] then
  return ''
end
local processes = call('HKEYS', key('procs'))
for at = 1, #processes do
  leave_outbox(processes[at], '')
end
for _, name in ipairs({ 'w', 'holds', 'procs', 'beats', 'verified', 'reaped', 'joining', 'open', 'changes' }) do
  call('UNLINK', key(name))
end
begin(math.max(tonumber(epoch), tonumber(ARGV[4])))
return epoch
