-- ARGV: account, name. A hold would give back to a limit that was set again what it never took from it: so a limit
-- goes only when no call holds any of it.
local limit = ARGV[3] .. '|' .. ARGV[4]
if (tonumber(call('HGET', wallets, limit .. ':lh')) or 0) ~= 0 then
  return { n, 'held' }
end
call('HDEL', wallets, limit .. ':la', limit .. ':lh', limit .. ':lp', limit .. ':lv', limit .. ':lt')
return { n, 'ok' }
