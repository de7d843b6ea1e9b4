-- Returns the calls that have a hold of this process.
local found = call('HGETALL', key('holds'))
local calls = {}
for at = 1, #found, 2 do
  if string.match(found[at + 1], '^%d+:([^:]*):') == me then
    calls[#calls + 1] = found[at]
  end
end
return calls
