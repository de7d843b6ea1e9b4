-- Raises the hold of a call to a total, or to what the wallet and its purses leave if that is at least the floor.
-- ARGV: call, total, floor
local hold = call('HGET', holds, ARGV[3])
if not hold then
  return { n, 'gone' }
end
local before, holder, account, purses = parts(hold)
local total = tonumber(ARGV[4])
if total <= before then
  return { n, 'held', text(before) }
end
local available, short = left(call('HGET', wallets, account .. ':a'), account, purses)
if not available then
  return { n, 'gone' }
end
local most = before + available
if most < total then
  if most < tonumber(ARGV[5]) then
    return { n, 'short', text(available), short }
  end
  -- A purse beyond its limit affords less than the call already holds. A hold is never lowered.
  total = math.max(before, most)
end
move(account, purses, before - total, total - before, 0)
call('HSET', holds, ARGV[3], text(total) .. ':' .. holder .. ':' .. account .. purses)
return { n, 'held', text(total) }
