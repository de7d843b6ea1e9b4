-- Holds an amount for a call, or what the wallet and its purses leave if that is at least the floor.
-- KEYS[4] exists if the API key is revoked
-- ARGV: call, account, amount, floor, version of the wallet at which the call was priced ('' to skip the check), purses as
-- `|<name>=<limit>|<name>=<limit>` ('' for none)
local call_id, account, purses = ARGV[3], ARGV[4], ARGV[8]
if call('EXISTS', KEYS[4]) == 1 then
  return { n, 'revoked' }
end
local known = call('HMGET', wallets, account .. ':a', account .. ':v')
local available, short = left(known[1], account, purses)
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
local amount = tonumber(ARGV[5])
if available < amount then
  if available < tonumber(ARGV[6]) then
    return { n, 'short', text(available), short }
  end
  amount = available
end
move(account, purses, 0 - amount, amount, 0)
local held = text(amount)
call('HSET', holds, call_id, held .. ':' .. owner .. ':' .. account .. purses)
return { n, 'held', held }
