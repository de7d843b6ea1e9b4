-- Raises the hold of a call to a total, or to what the wallet and its limits afford if that is at least the floor.
-- ARGV: call, total, floor
local hold = call('HGET', holds, ARGV[3])
if not hold then
  return { n, 'gone' }
end
local before, holder, account, limits = parts(hold)
local total = tonumber(ARGV[4])
if total <= before then
  return { n, 'held', text(before) }
end
local available = tonumber(call('HGET', wallets, account .. ':a'))
if not available then
  return { n, 'gone' }
end
local short = 'wallet'
for limit in string.gmatch(limits, '|[^|]+') do
  -- A limit that was dropped is ignored.
  local left = tonumber(call('HGET', wallets, account .. limit .. ':la'))
  if left and left < available then
    available, short = left, string.sub(limit, 2)
  end
end
local most = before + available
if most < total then
  if most < tonumber(ARGV[5]) then
    return { n, 'short', text(available), short }
  end
  -- A limit below zero affords less than the call already holds. A hold is never lowered.
  total = math.max(before, most)
end
add(account, ':a', before - total)
add(account, ':h', total - before)
add_to_limits(account, limits, before - total, total - before, 0)
call('HSET', holds, ARGV[3], text(total) .. ':' .. holder .. ':' .. account .. limits)
return { n, 'held', text(total) }
