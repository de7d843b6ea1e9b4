-- Raises the hold of a call to a total, or to what the wallet and its purses leave if that is at least the floor.
-- ARGV: call, total, floor
local call_id, total, floor = unpack(ARGV, a, z)
local hold = call('HGET', holds, call_id)
if not hold then
  return { 'gone' }
end
local before, holder, account, purses = parts(hold)
total = tonumber(total)
if total <= before then
  return { 'held', text(before) }
end
local available, short = left(call('HGET', wallets, account .. ':a'), account, purses)
if not available then
  return { 'gone' }
end
local most = before + available
if most < total then
  if most < tonumber(floor) then
    return { 'short', text(available), short }
  end
  -- A purse beyond its limit affords less than the call already holds. A hold is never lowered.
  total = math.max(before, most)
end
move(account, purses, before - total, total - before, 0)
call('HSET', holds, call_id, text(total) .. ':' .. holder .. ':' .. account .. purses)
return { 'held', text(total) }
