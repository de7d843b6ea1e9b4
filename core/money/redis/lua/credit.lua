-- Applies a movement that is committed to the ledger. If the wallet does not afford it, changes nothing and replies
-- `short`, then each hold of a movement of this account: its call and amount.
-- ARGV: account, version, total of all movements so far, 2^53 - 1, then each call whose hold it releases
local account, version, credited, most = ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local known = call('HMGET', wallets, account .. ':a', account .. ':h', account .. ':p', account .. ':v', account .. ':c')
local is_newer = version > (tonumber(known[4]) or -1)
if not known[1] then
  -- A process may be loading this wallet from a read that is older than the movement. The version makes it read again.
  if is_newer then
    call('HSET', wallets, account .. ':v', ARGV[4], account .. ':c', credited)
  end
  return { n, 'ok' }
end
local difference = '0'
if is_newer then
  -- Totals may exceed 2^53, so Redis subtracts them: HINCRBY counts to 2^63.
  local field, before = account .. ':d', known[5]
  call('HSET', wallets, field, credited)
  if string.sub(before, 1, 1) == '-' then
    call('HINCRBY', wallets, field, string.sub(before, 2))
  elseif before ~= '0' then
    call('HINCRBY', wallets, field, '-' .. before)
  end
  difference = call('HGET', wallets, field)
  call('HDEL', wallets, field)
end
local amount = tonumber(difference)
local available = tonumber(known[1])
local freed = 0
for at = 7, #ARGV do
  local released = call('HGET', holds, ARGV[at])
  freed = freed + (released and parts(released) or 0)
end
if available + freed + amount < 0 then
  -- The total may have movements of other gateways, which have not released their holds yet.
  local short = { n, 'short' }
  local found = call('HGETALL', holds)
  for at = 1, #found, 2 do
    local held, _, of = parts(found[at + 1])
    if of == account and string.sub(found[at], 1, 9) == 'movement:' then
      short[#short + 1] = found[at]
      short[#short + 1] = text(held)
    end
  end
  return short
end
if available + tonumber(known[2]) + tonumber(known[3]) + amount > most then
  return { n, 'range' }
end
for at = 7, #ARGV do
  give_back(ARGV[at])
end
if is_newer then
  call('HINCRBY', wallets, account .. ':a', difference)
  call('HSET', wallets, account .. ':v', ARGV[4], account .. ':c', credited)
end
return { n, 'ok' }
