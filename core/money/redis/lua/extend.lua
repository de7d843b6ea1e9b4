-- ARGV: call, total, floor
local hold = call('HGET', holds, ARGV[3])
if not hold then
  return { n, 'gone' }
end
local before, holder, account = parts(hold)
local total = tonumber(ARGV[4])
if total <= before then
  return { n, 'held', text(before) }
end
local available = tonumber(call('HGET', wallets, account .. ':a'))
local most = before + available
if most < total then
  if most < tonumber(ARGV[5]) then
    return { n, 'short', text(available) }
  end
  total = most
end
add(account, ':a', before - total)
add(account, ':h', total - before)
call('HSET', holds, ARGV[3], text(total) .. ':' .. holder .. ':' .. account)
return { n, 'held', text(total) }
