-- Holds an amount for a call, or what the wallet and its limits afford if that is at least the floor.
-- KEYS[4] exists if the API key is revoked
-- ARGV: call, account, amount, floor, version of the wallet at which the call was priced ('' to skip the check), limits as
-- `|<name>|<name>` ('' for none)
local call_id, account, limits = ARGV[3], ARGV[4], ARGV[8]
if call('EXISTS', KEYS[4]) == 1 then
  return { n, 'revoked' }
end
local known = call('HMGET', wallets, account .. ':a', account .. ':v')
local available = tonumber(known[1])
if not available then
  return { n, 'unknown' }
end
local existing = call('HGET', holds, call_id)
if existing then
  local amount = parts(existing)
  return { n, 'held', text(amount) }
end
if ARGV[7] ~= '' and tonumber(known[2]) > tonumber(ARGV[7]) then
  return { n, 'stale' }
end
local short = 'wallet'
for limit in string.gmatch(limits, '|[^|]+') do
  local left = tonumber(call('HGET', wallets, account .. limit .. ':la'))
  if not left then
    return { n, 'no_limit', string.sub(limit, 2) }
  end
  if left < available then
    available, short = left, string.sub(limit, 2)
  end
end
local amount = tonumber(ARGV[5])
if available < amount then
  if available < tonumber(ARGV[6]) then
    return { n, 'short', text(available), short }
  end
  amount = available
end
add(account, ':a', 0 - amount)
add(account, ':h', amount)
for limit in string.gmatch(limits, '|[^|]+') do
  add(account .. limit, ':la', 0 - amount)
  add(account .. limit, ':lh', amount)
end
call('HSET', holds, call_id, text(amount) .. ':' .. owner .. ':' .. account .. limits)
return { n, 'held', text(amount) }
