-- Ends the membership of a process that stops: voids its holds, and makes its outbox an orphan. ARGV: epoch
if epoch ~= ARGV[3] or call('HEXISTS', key('procs'), me) == 0 then
  return 0
end
forget(me)
leave_outbox(me, '')
return void_holds(me)
