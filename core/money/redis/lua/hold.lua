-- Holds an amount for a call, or what the wallet and its limits afford if that is at least the floor.
-- KEYS[4] exists if the API key is revoked
-- ARGV: call, account, API key ('' for a movement), amount, floor, holder as in `money.lua`, version of the wallet at
-- which the call was priced ('' to skip the check), limits as `|<name>|<name>` ('' for none)
local call_id, account, limits = ARGV[3], ARGV[4], ARGV[10]
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
  local amount, holder, of, others = parts(existing)
  if ARGV[5] == '' then
    -- A movement that is sent again belongs to the process that has it now.
    local since = string.match(holder, '@.*$') or string.match(ARGV[8], '@.*$')
    call('HSET', holds, call_id, text(amount) .. ':' .. owner .. since .. ':' .. of .. others)
  end
  return { n, 'held', text(amount) }
end
if ARGV[9] ~= '' and tonumber(known[2]) > tonumber(ARGV[9]) then
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
local amount = tonumber(ARGV[6])
if available < amount then
  if available < tonumber(ARGV[7]) then
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
call('HSET', holds, call_id, text(amount) .. ':' .. ARGV[8] .. ':' .. account .. limits)
return { n, 'held', text(amount) }
