-- Applies movements that add money and are committed to the ledger. If the wallet would go below zero, changes nothing and
-- replies `short`: charges in quarantine are not covered yet.
-- Fields: account, version, total of all movements so far, 2^53 - 1
local account, version, credited, most = struct.unpack('ssss', text, at)
local known = call('HMGET', wallets, account .. ':a', account .. ':h', account .. ':p', account .. ':v', account .. ':c')
if tonumber(version) <= (tonumber(known[4]) or -1) then
  return 'ok'
end
if not known[1] then
  -- A process may be loading this wallet from a read that is older than the movement. The version makes it read again.
  call('HSET', wallets, account .. ':v', version, account .. ':c', credited)
  return 'ok'
end
-- Totals may exceed 2^53, so Redis subtracts them: HINCRBY counts to 2^63.
local field, before = account .. ':d', known[5]
call('HSET', wallets, field, credited)
if string.sub(before, 1, 1) == '-' then
  call('HINCRBY', wallets, field, string.sub(before, 2))
elseif before ~= '0' then
  call('HINCRBY', wallets, field, '-' .. before)
end
local difference = call('HGET', wallets, field)
call('HDEL', wallets, field)
local amount = tonumber(difference)
local available = tonumber(known[1])
if available + amount < 0 then
  return 'short'
end
if available + tonumber(known[2]) + tonumber(known[3]) + amount > tonumber(most) then
  return 'range'
end
call('HINCRBY', wallets, account .. ':a', difference)
call('HSET', wallets, account .. ':v', version, account .. ':c', credited)
return 'ok'
