-- Charges a call: the hold first, then what is available of the wallet. The rest is written off. Idempotent by call.
-- KEYS[4] outbox of the process  KEYS[5] result of this call, which money.lua reads as `done`
-- ARGV: call, account, cost, entry, epoch, purses as `|<name>|<name>` (used only if the hold is gone), and for a debit 'whole': it
-- takes all of its cost, or nothing; or 'asked', after a first attempt without a reply: its operator may have been refused
-- elsewhere since, so it takes nothing, and that attempt takes nothing if it arrives later. Then how long to remember that (ms)
-- The result expires only after `acknowledge`: a Redis whose clock jumps forward must not forget an uncommitted call.
local call_id, account = ARGV[3], ARGV[4]
local asked = ''
if done then
  local charged, off, place = string.match(done, '^(%d+):(%d+):(.*)$')
  -- Instead of a place, the entries of the attempts that were asked for. An operator's next attempt has another time.
  if string.sub(place, 1, 1) == '{' then
    asked = place
  end
  if asked == '' or string.find(asked, ARGV[6], 1, true) then
    return { n, 'duplicate', charged, off, place }
  end
end
if ARGV[9] == 'asked' then
  call('SET', KEYS[5], '0:0:' .. asked .. ARGV[6], 'PX', ARGV[10])
  return { n, 'short', '0' }
end
local hold = call('HGET', holds, call_id)
local held, holder, purses = 0, '', ARGV[8]
if hold then
  held, holder, account, purses = parts(hold)
end
local cost = tonumber(ARGV[5])
local available = tonumber(call('HGET', wallets, account .. ':a'))
if not available and cost > 0 then
  return { n, 'unknown' }
end
if not hold and cost > 0 and purses ~= '' then
  for name in string.gmatch(purses, '|[^|=]+') do
    if call('HEXISTS', wallets, account .. name .. ':a') == 0 then
      return { n, 'unknown' }
    end
  end
end
local charged = math.min(cost, held + (available or 0))
if ARGV[9] == 'whole' and charged < cost then
  return { n, 'short', text(available) }
end
if hold then
  call('HDEL', holds, call_id)
end
move(account, purses, held - charged, 0 - held, charged)
local took, off = text(charged), text(cost - charged)
local id = call('XADD', KEYS[4], '*', 'e', ARGV[6], 'c', took, 'o', off)
local place = ARGV[7] .. '|' .. owner .. '|' .. id
call('SET', KEYS[5], took .. ':' .. off .. ':' .. place)
return { n, 'posted', took, off, place }
