-- Loads a wallet as it was read from the ledger.
-- KEYS[4] exists if wallets may be loaded in this epoch
-- ARGV: account, balance, version, total of all movements, count of closes before the ledger was read, then for each limit
-- its name, available, version, total
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
for at = 8, #ARGV, 4 do
  local limit = account .. '|' .. ARGV[at]
  call('HSET', wallets, limit .. ':la', ARGV[at + 1], limit .. ':lh', '0', limit .. ':lp', '0',
    limit .. ':lv', ARGV[at + 2], limit .. ':lt', ARGV[at + 3])
end
return { n, 'loaded' }
