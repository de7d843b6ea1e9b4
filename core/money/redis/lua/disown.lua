-- Removes this process as the holder of a movement's hold, because it does not complete the movement. The time of the
-- hold stays. Does nothing if this process is not its holder.
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
