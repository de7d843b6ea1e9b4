-- Gives back the hold of a call; does nothing if it has none, or if another process has it.
-- ARGV: call
--
-- After a post without a reply: also gives back its charge, if its entry is still in this process's own outbox. Only
-- this process can commit it from there, and it does not. If the outbox has another owner by now, the charge stays.
-- A post that arrives after this step finds a result, and charges nothing.
-- KEYS[4] outbox of the process  KEYS[5] result of this call
-- ARGV: epoch, account, purses as in post.lua, how long to remember the call (ms)
local hold = call('HGET', holds, ARGV[3])
if hold then
  local amount, holder, account, purses = parts(hold)
  if holder == owner then
    call('HDEL', holds, ARGV[3])
    move(account, purses, amount, 0 - amount, 0)
  end
end
if KEYS[5] then
  local done = call('GET', KEYS[5])
  local charged, place = string.match(done or '', '^(%d+):%d+:(.*)$')
  local own = ARGV[4] .. '|' .. owner .. '|'
  if done and string.sub(place, 1, #own) == own and call('XDEL', KEYS[4], string.sub(place, #own + 1)) == 1 then
    local amount = tonumber(charged)
    move(ARGV[5], ARGV[6], amount, 0, 0 - amount)
    done = false
  end
  if not done then
    call('SET', KEYS[5], '0:0:', 'PX', ARGV[7])
  end
end
return { n, 'ok' }
