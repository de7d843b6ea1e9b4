-- KEYS[4] revoked keys
-- ARGV: call, account, key, amount, floor, process whose lease it is ('' for none), version of the price ('' where any will do)
local call_id, account = ARGV[3], ARGV[4]
if call('SISMEMBER', KEYS[4], ARGV[5]) == 1 then
  return { n, 'revoked' }
end
local known = call('HMGET', wallets, account .. ':a', account .. ':v')
local available = tonumber(known[1])
if not available then
  return { n, 'unknown' }
end
local existing = call('HGET', holds, call_id)
if existing then
  return { n, 'held', text(parts(existing)) }
end
if ARGV[9] ~= '' and tonumber(known[2]) > tonumber(ARGV[9]) then
  return { n, 'stale' }
end
local amount = tonumber(ARGV[6])
if available < amount then
  if available < tonumber(ARGV[7]) then
    return { n, 'short', text(available) }
  end
  amount = available
end
add(account, ':a', 0 - amount)
add(account, ':h', amount)
call('HSET', holds, call_id, text(amount) .. ':' .. ARGV[8] .. ':' .. account)
return { n, 'held', text(amount) }
