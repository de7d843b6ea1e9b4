-- Makes this process a member. Begins an epoch if the bucket has none.
-- ARGV: epoch expected ('' for none), epoch that a new one must exceed. Returns the epoch joined, or '' if another
-- process has changed it.
if epoch ~= ARGV[3] then
  return ''
end
if epoch == '' then
  begin(ARGV[4])
end
call('HSETNX', key('procs'), me, '1')
call('HINCRBY', key('beats'), me, '1')
verify(server())
call('HDEL', key('joining'), me)
changed(me)
return epoch
