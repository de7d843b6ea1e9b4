-- Deletes an orphaned outbox if it is empty. ARGV: outbox as "epoch|process". Returns 1 if it is deleted.
local of, process = string.match(ARGV[3], '^(%d+)|(.*)$')
local outbox = key('o:' .. process, of)
if call('XLEN', outbox) > 0 then
  return 0
end
call('DEL', outbox)
call('HDEL', base .. 'orphans', ARGV[3])
changed()
return 1
