-- Raises the hold of a call to a total, or to what the wallet and its purses leave if that is at least the floor.
-- Fields: call, total, floor
local call_id, total, floor = struct.unpack('sss', text, at)
local hold = call('HGET', holds, call_id)
if not hold then
  return 'gone'
end
local before, holder, account, purses = parts(hold)
total = tonumber(total)
if total <= before then
  return 'held\n' .. digits(before)
end
local available, short = left(call('HGET', wallets, account .. ':a'), account, purses)
if not available then
  return 'gone'
end
local most = before + available
if most < total then
  if most < tonumber(floor) then
    return 'short\n' .. digits(available) .. '\n' .. short
  end
  -- A purse beyond its limit affords less than the call already holds. A hold is never lowered.
  total = math.max(before, most)
end
move(account, purses, before - total, total - before, 0)
call('HSET', holds, call_id, digits(total) .. ':' .. holder .. ':' .. account .. purses)
return 'held\n' .. digits(total)
