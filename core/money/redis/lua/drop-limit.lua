-- Drops a limit, but only while no call holds any of it. Otherwise such a hold could be given back to a new limit of
-- that name, from which it was never taken.
-- ARGV: account, name
local limit = ARGV[3] .. '|' .. ARGV[4]
if (tonumber(call('HGET', wallets, limit .. ':lh')) or 0) ~= 0 then
  return { n, 'held' }
end
local uncommitted = call('HGET', wallets, limit .. ':lp')
if uncommitted and uncommitted ~= '0' then
  add(limit, ':ls', tonumber(uncommitted))
  add(limit, ':lc', 1)
end
call('HDEL', wallets, limit .. ':la', limit .. ':lh', limit .. ':lp', limit .. ':lv', limit .. ':lt')
return { n, 'ok' }
