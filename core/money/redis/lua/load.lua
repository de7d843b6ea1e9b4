-- Loads a wallet, or a purse, as it was read from the ledger.
-- KEYS[k] exists if wallets may be loaded in this epoch
-- Fields: account (`<account>|<name>` for a purse), balance, version, total of all movements, count of closes before the ledger was read
local account, balance, version, credited, closes = struct.unpack('sssss', text, at)
if call('HEXISTS', wallets, account .. ':a') == 1 then
  return 'loaded'
end
if call('EXISTS', KEYS[k]) == 0 then
  return 'closed'
end
if (call('HGET', wallets, ':closes') or '') ~= closes then
  return 'stale'
end
local known = tonumber(call('HGET', wallets, account .. ':v'))
if known and known > tonumber(version) then
  return 'stale'
end
call('HSET', wallets, account .. ':a', balance, account .. ':h', '0', account .. ':p', '0',
  account .. ':v', version, account .. ':c', credited)
return 'loaded'
