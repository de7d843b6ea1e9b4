-- Loads a wallet, or a purse, as it was read from the ledger.
-- KEYS[4] exists if wallets may be loaded in this epoch
-- ARGV: account (`<account>|<name>` for a purse), balance, version, total of all movements, count of closes before the ledger was read
local account = ARGV[3]
if call('HEXISTS', wallets, account .. ':a') == 1 then
  return { n, 'loaded' }
end
if call('EXISTS', KEYS[4]) == 0 then
  return { n, 'closed' }
end
if (call('HGET', wallets, ':closes') or '') ~= ARGV[7] then
  return { n, 'stale' }
end
local known = tonumber(call('HGET', wallets, account .. ':v'))
if known and known > tonumber(ARGV[5]) then
  return { n, 'stale' }
end
call('HSET', wallets, account .. ':a', ARGV[4], account .. ':h', '0', account .. ':p', '0',
  account .. ':v', ARGV[5], account .. ':c', ARGV[6])
return { n, 'loaded' }
