-- Closes wallets and purses without a call for some time: deletes them, and the next call loads them from the ledger. A wallet with
-- a hold or an uncommitted charge stays, because the ledger lacks it. Returns how many it closed.
-- Fields: ms since 1970, the time without a call (ms), then each account, or `<account>|<name>`
--
-- Calls write no time. Instead `:u` keeps when this operation first saw the wallet with what it has available now.
-- A load that read the ledger before a wallet was closed may lack calls of that wallet: `:closes` makes it read again.
--
-- A wallet stays while a call has a hold, even of nothing: its gateway may die.
local now, idle
now, idle, at = struct.unpack('ss', text, at)
local holders

local function is_held(account)
  if not holders then
    holders = {}
    for _, hold in ipairs(call('HVALS', holds)) do
      local _, _, of, purses = parts(hold)
      holders[of] = true
      for name in string.gmatch(purses, '|[^|=]+') do
        holders[of .. name] = true
      end
    end
  end
  return holders[account]
end

local closed = 0
while at <= #text do
  local account
  account, at = struct.unpack('s', text, at)
  local known = call('HMGET', wallets, account .. ':a', account .. ':h', account .. ':p', account .. ':u', account .. ':v')
  if not known[1] and not known[5] then
    call('HDEL', wallets, account .. ':u')
  elseif (known[2] or '0') == '0' and (known[3] or '0') == '0' then
    local available = known[1] or ''
    local since, before = string.match(known[4] or '', '^(%d+):(.*)$')
    if before ~= available then
      call('HSET', wallets, account .. ':u', now .. ':' .. available)
    elseif now - since >= tonumber(idle) and not is_held(account) then
      call('HDEL', wallets, account .. ':a', account .. ':h', account .. ':p', account .. ':v', account .. ':c', account .. ':u')
      closed = closed + 1
    end
  end
end
if closed > 0 then
  call('HINCRBY', wallets, ':closes', '1')
end
return 'ok\n' .. closed
