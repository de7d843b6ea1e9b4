-- Drops committed entries from an outbox, and takes their charges out of `uncommitted`. XDEL deletes an entry once,
-- so a second acknowledgement changes nothing.
-- KEYS[k] outbox  KEYS[k + 1...] result of each call
-- Fields: 1 if the outbox is of this epoch, how long to remember the calls from now (ms), then for each entry its id,
-- account (followed by its purses, as in post.lua), charge, and '1' if the wallet gets it back: then the call is forgotten
local committed, result = {}, k
local of_epoch, kept
of_epoch, kept, at = struct.unpack('ss', text, at)
while at <= #text do
  local id, of, charge, returned
  id, of, charge, returned, at = struct.unpack('ssss', text, at)
  local charged = tonumber(charge)
  if call('XDEL', KEYS[k], id) == 1 and of_epoch == '1' and charged > 0 then
    if returned == '1' then
      local account = string.match(of, '^[^|]*')
      if call('HEXISTS', wallets, account .. ':a') == 1 then
        add(account, charged, 0, 0)
      end
    end
    committed[of] = (committed[of] or 0) + charged
  end
  result = result + 1
  call('PEXPIRE', KEYS[result], returned == '1' and '0' or kept, 'LT')
end
for of, charged in pairs(committed) do
  local account, purses = string.match(of, '^([^|]*)(.*)$')
  move(account, purses, 0, 0, 0 - charged)
end
return 'ok'
