-- Takes the holder off the hold of a movement, if it is this process, which does not complete it. Its time stays.
-- ARGV: call
local hold = call('HGET', holds, ARGV[3])
if hold then
  local amount, holder, account, limits = parts(hold)
  if process_of(holder) == owner then
    local since = string.match(holder, '@.*$') or ''
    call('HSET', holds, ARGV[3], text(amount) .. ':' .. since .. ':' .. account .. limits)
  end
end
return { n, 'ok' }
