-- ARGV: epoch. The process stops: what it still holds is given back, what it has not committed is left to others.
if epoch ~= ARGV[3] or call('HEXISTS', key('procs'), me) == 0 then
  return 0
end
forget(me)
leave_outbox(me, '')
return void_holds(me)
