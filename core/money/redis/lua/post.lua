-- Charges a call: the hold first, then what is available of the wallet. The rest is written off. Idempotent by call.
-- KEYS[k] outbox of the process  KEYS[k + 1] result of this call
-- Fields: call, account, cost, entry, epoch, purses as `|<name>|<name>` (used only if the hold is gone), and for a debit 'whole': it
-- takes all of its cost, or nothing; or 'asked', after a first attempt without a reply: its operator may have been refused
-- elsewhere since, so it takes nothing, and that attempt takes nothing if it arrives later. Then how long to remember that (ms)
-- The result expires only after `acknowledge`: a Redis whose clock jumps forward must not forget an uncommitted call.
local call_id, account, cost, entry, epoch, loaded, debit, kept
call_id, account, cost, entry, epoch, loaded, at = struct.unpack('ssssss', text, at)
if at <= #text then
  debit, kept = struct.unpack('ss', text, at)
end
local done = call('GET', KEYS[k + 1])
local asked = ''
if done then
  local charged, off, place = string.match(done, '^(%d+):(%d+):(.*)$')
  -- Instead of a place, the entries of the attempts that were asked for. An operator's next attempt has another time.
  if string.sub(place, 1, 1) == '{' then
    asked = place
  end
  if asked == '' or string.find(asked, entry, 1, true) then
    return 'duplicate\n' .. charged .. '\n' .. off .. '\n' .. place
  end
end
if debit == 'asked' then
  call('SET', KEYS[k + 1], '0:0:' .. asked .. entry, 'PX', kept)
  return 'short\n0'
end
local hold = call('HGET', holds, call_id)
local held, holder, purses = 0, '', loaded
if hold then
  held, holder, account, purses = parts(hold)
end
cost = tonumber(cost)
local available = tonumber(call('HGET', wallets, account .. ':a'))
if not available and cost > 0 then
  return 'unknown'
end
if not hold and cost > 0 and purses ~= '' then
  for name in string.gmatch(purses, '|[^|=]+') do
    if call('HEXISTS', wallets, account .. name .. ':a') == 0 then
      return 'unknown'
    end
  end
end
local charged = math.min(cost, held + (available or 0))
if debit == 'whole' and charged < cost then
  return 'short\n' .. digits(available)
end
if hold then
  call('HDEL', holds, call_id)
end
move(account, purses, held - charged, 0 - held, charged)
local took, off = digits(charged), digits(cost - charged)
local id = call('XADD', KEYS[k], '*', 'e', entry, 'c', took, 'o', off)
local place = epoch .. '|' .. owner .. '|' .. id
call('SET', KEYS[k + 1], took .. ':' .. off .. ':' .. place)
return 'posted\n' .. took .. '\n' .. off .. '\n' .. place
