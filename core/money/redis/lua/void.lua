-- Gives back the hold of a call; does nothing if it has none, or if another process has it.
-- Fields: call
--
-- After a post without a reply: also gives back its charge, if its entry is still in this process's own outbox. Only
-- this process can commit it from there, and it does not. If the outbox has another owner by now, the charge stays.
-- A post that arrives after this step finds a result, and charges nothing.
-- KEYS[k] outbox of the process  KEYS[k + 1] result of this call
-- Fields: epoch, account, purses as in post.lua, how long to remember the call (ms)
local call_id
call_id, at = struct.unpack('s', text, at)
local hold = call('HGET', holds, call_id)
if hold then
  local amount, holder, account, purses = parts(hold)
  if holder == owner then
    call('HDEL', holds, call_id)
    move(account, purses, amount, 0 - amount, 0)
  end
end
if at <= #text then
  local epoch, charged_account, charged_purses, kept = struct.unpack('ssss', text, at)
  local done = call('GET', KEYS[k + 1])
  local charged, place = string.match(done or '', '^(%d+):%d+:(.*)$')
  local own = epoch .. '|' .. owner .. '|'
  if done and string.sub(place, 1, #own) == own and call('XDEL', KEYS[k], string.sub(place, #own + 1)) == 1 then
    local amount = tonumber(charged)
    move(charged_account, charged_purses, amount, 0, 0 - amount)
    done = false
  end
  if not done then
    call('SET', KEYS[k + 1], '0:0:', 'PX', kept)
  end
end
return 'ok'
