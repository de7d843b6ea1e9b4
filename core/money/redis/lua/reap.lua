-- ARGV: epoch, process, its heartbeat as last seen. Ends the leases of a process that has been silent; one
-- that has shown itself since is left alone. Answers how many holds were voided, or -1.
local process = ARGV[4]
if epoch ~= ARGV[3] then
  return -1
end
if call('HGET', key('joining'), process) == ARGV[5] then
  call('HDEL', key('joining'), process)
  return 0
end
if call('HGET', key('beats'), process) ~= ARGV[5] then
  return -1
end
forget(process)
call('SADD', key('reaped'), process)
leave_outbox(process, me)
return void_holds(process)
