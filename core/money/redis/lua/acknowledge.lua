-- Drops committed entries from an outbox, and takes their charges out of `uncommitted`. XDEL deletes an entry once,
-- so a second acknowledgement changes nothing.
-- KEYS[k] outbox  KEYS[k + 1...] result of each call
-- ARGV: 1 if the outbox is of this epoch, how long to remember the calls from now (ms), then for each entry its id,
-- account (followed by its purses, as in post.lua), charge, and '1' if the wallet gets it back: then the call is forgotten
local committed = {}
local of_epoch, kept = ARGV[a], ARGV[a + 1]
for at = a + 2, z, 4 do
  local charged = tonumber(ARGV[at + 2])
  if call('XDEL', KEYS[k], ARGV[at]) == 1 and of_epoch == '1' and charged > 0 then
    if ARGV[at + 3] == '1' then
      local account = string.match(ARGV[at + 1], '^[^|]*')
      if call('HEXISTS', wallets, account .. ':a') == 1 then
        add(account, charged, 0, 0)
      end
    end
    committed[ARGV[at + 1]] = (committed[ARGV[at + 1]] or 0) + charged
  end
  call('PEXPIRE', KEYS[k + 1 + (at - a - 2) / 4], ARGV[at + 3] == '1' and '0' or kept, 'LT')
end
for of, charged in pairs(committed) do
  local account, purses = string.match(of, '^([^|]*)(.*)$')
  move(account, purses, 0, 0, 0 - charged)
end
return { 'ok' }
