-- Ends the leases of a silent process: voids its holds, and claims its outbox for the caller.
-- ARGV: epoch, process, its heartbeat as the caller last saw it. Returns the count of voided holds; -1 if the epoch or
-- the heartbeat has changed since, which changes nothing. A process that is
-- still joining has no holds: it only loses its heartbeat.
local process = ARGV[4]
if epoch ~= ARGV[3] then
  return -1
end
if call('HGET', key('joining'), process) == ARGV[5] then
  call('HDEL', key('joining'), process)
  changed()
  return 0
end
if call('HGET', key('beats'), process) ~= ARGV[5] then
  return -1
end
forget(process)
call('SADD', key('reaped'), process)
leave_outbox(process, me)
return void_holds(process)
