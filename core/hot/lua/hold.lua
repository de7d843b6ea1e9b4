-- KEYS[4] revoked keys  ARGV: call, account, key, amount, floor, process whose lease it is ('' for none)
local call_id, account = ARGV[3], ARGV[4]
if call('SISMEMBER', KEYS[4], ARGV[5]) == 1 then
  return { n, 'revoked' }
end
local available = tonumber(call('HGET', wallets, account .. ':a'))
if not available then
  return { n, 'unknown' }
end
local existing = call('HGET', holds, call_id)
if existing then
  return { n, 'held', text(parts(existing)) }
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
