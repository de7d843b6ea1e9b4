-- The calls that this process holds money for.
local found = call('HGETALL', key('holds'))
local calls = {}
for at = 1, #found, 2 do
  if string.match(found[at + 1], '^%d+:([^:]*):') == me then
    calls[#calls + 1] = found[at]
  end
end
return calls
