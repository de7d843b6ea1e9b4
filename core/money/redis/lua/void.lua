-- Gives back the hold of a call; does nothing if it has none, or if another process has it.
-- ARGV: call, process that has the hold ('' for the hold of a movement that no process has)
local hold = call('HGET', holds, ARGV[3])
if hold then
  local _, holder = parts(hold)
  if process_of(holder) == ARGV[4] then
    give_back(ARGV[3])
  end
end
return { n, 'ok' }
