-- Sets a limit beside a loaded wallet, or changes its total if the version is newer.
-- ARGV: account, name, version, total, available (used only if the limit is not set yet), count of unset charges at the
-- reading of the ledger ('' if there were none)
local limit = ARGV[3] .. '|' .. ARGV[4]
if call('HEXISTS', wallets, ARGV[3] .. ':a') == 0 then
  return { n, 'unknown' }
end
local known = call('HMGET', wallets, limit .. ':la', limit .. ':lv', limit .. ':lt')
if not known[1] then
  local unset = call('HMGET', wallets, limit .. ':ls', limit .. ':lc')
  if unset[2] and (tonumber(unset[1] or '0') > 0 or unset[2] ~= ARGV[8]) then
    return { n, 'unset', unset[1] or '0', unset[2] }
  end
  call('HSET', wallets, limit .. ':la', ARGV[7], limit .. ':lh', '0', limit .. ':lp', '0', limit .. ':lv', ARGV[5], limit .. ':lt', ARGV[6])
elseif tonumber(ARGV[5]) > tonumber(known[2]) then
  add(limit, ':la', tonumber(ARGV[6]) - tonumber(known[3]))
  call('HSET', wallets, limit .. ':lv', ARGV[5], limit .. ':lt', ARGV[6])
end
return { n, 'ok' }
