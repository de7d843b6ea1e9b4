-- Raises the known progress of the ledger, and returns all of it on request: see `LedgerWatch`.
-- KEYS[1] hash: `generation`, and by writer its count of commits
-- ARGV: 1 if all are wanted, generation, how many counts to drop, then writer and count of each, then of those to raise
local call = redis.call
-- The counts rise at maxmemory too: a first write that needs no memory lets the others pass, see money.lua.
call('HDEL', KEYS[1], '')
local kept, given = tonumber(call('HGET', KEYS[1], 'generation') or '-1'), tonumber(ARGV[2])
if given > kept then
  call('DEL', KEYS[1])
  call('HSET', KEYS[1], 'generation', ARGV[2])
end
if given >= kept then
  local first = 4 + 2 * tonumber(ARGV[3])
  for at = 4, first - 1, 2 do
    if call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
      call('HDEL', KEYS[1], ARGV[at])
    end
  end
  for at = first, #ARGV, 2 do
    if tonumber(ARGV[at + 1]) > tonumber(call('HGET', KEYS[1], ARGV[at]) or '0') then
      call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
    end
  end
end
return ARGV[1] == '1' and call('HGETALL', KEYS[1]) or {}
