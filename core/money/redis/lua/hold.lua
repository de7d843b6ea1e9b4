-- Holds an amount for a call, or what the wallet and its purses leave if that is at least the floor.
-- KEYS[k] exists if the API key is revoked
-- Fields: call, account, amount, floor, version of the wallet at which the call was priced ('' to skip the check), purses as
-- `|<name>=<limit>|<name>=<limit>` ('' for none)
local call_id, account, amount, floor, version, purses = struct.unpack('ssssss', text, at)
amount = tonumber(amount)
if call('EXISTS', KEYS[k]) == 1 then
  return 'revoked'
end
local known = call('HMGET', wallets, account .. ':a', account .. ':v')
local available, short = left(known[1], account, purses)
if not available then
  return 'unknown'
end
local existing = call('HGET', holds, call_id)
if existing then
  local before = parts(existing)
  return 'held\n' .. digits(before)
end
if version ~= '' and tonumber(known[2]) > tonumber(version) then
  return 'stale'
end
if available < amount then
  if available < tonumber(floor) then
    return 'short\n' .. digits(available) .. '\n' .. short
  end
  amount = available
end
move(account, purses, 0 - amount, amount, 0)
local held = digits(amount)
call('HSET', holds, call_id, held .. ':' .. owner .. ':' .. account .. purses)
return 'held\n' .. held
