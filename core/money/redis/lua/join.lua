-- ARGV: epoch expected ('' for none), epoch that a new one must exceed. Answers the epoch joined, or '' where
-- another process was quicker.
if epoch ~= ARGV[3] then
  return ''
end
if epoch == '' then
  begin(ARGV[4])
end
call('HSETNX', key('procs'), me, '1')
call('HINCRBY', key('beats'), me, '1')
call('HSET', key('verified'), me, server())
call('HDEL', key('joining'), me)
return epoch
