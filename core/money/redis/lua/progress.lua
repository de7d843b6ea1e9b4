-- Raises the known progress of the ledger, and returns its edition, and all of it on request: see `LedgerWatch`.
-- KEYS[1] hash: `generation`, and by writer its count of commits
-- KEYS[2] the edition of these counts: `<ms since 1970 at which they began>.<how often they changed since>`, in digits of
-- a fixed number, so that a later edition is a greater text.
-- ARGV: the latest edition of which the caller knows all counts ('' for none), 1 if it sends all and wants all, generation,
-- how many counts to drop, then writer and count of each, then writer and count of those to raise
-- If the caller does not send all, and counts were lost that it knows, changes nothing and returns '' as the edition.
local call = redis.call
-- The counts rise at maxmemory too: a first write that needs no memory lets the others pass, see money.lua.
call('HDEL', KEYS[1], '')
local kept, given = tonumber(call('HGET', KEYS[1], 'generation') or '-1'), tonumber(ARGV[3])
-- A node that fails while a slot moves may lose one of the two keys alone.
local edition = kept >= 0 and call('GET', KEYS[2]) or ''
local since, number = string.match(edition, '^(%d+)%.(%d+)$')
local known_since, known_number = string.match(ARGV[1], '^(%d+)%.(%d+)$')
if ARGV[2] ~= '1' and (not since or known_since and (known_since ~= since or known_number > number)) then
  return { '', {} }
end
local is_changed = false
if given > kept then
  call('DEL', KEYS[1])
  call('HSET', KEYS[1], 'generation', ARGV[3])
  is_changed = true
end
if given >= kept then
  local first = 5 + 2 * tonumber(ARGV[4])
  for at = 5, first - 1, 2 do
    if call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
      call('HDEL', KEYS[1], ARGV[at])
      is_changed = true
    end
  end
  for at = first, #ARGV, 2 do
    if tonumber(ARGV[at + 1]) > tonumber(call('HGET', KEYS[1], ARGV[at]) or '0') then
      call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
      is_changed = true
    end
  end
end
-- If Redis lost the edition, a caller that knows it brings it back.
if not since then
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  since, number = known_since or string.format('%013.0f', now), known_number or '0'
  is_changed = true
elseif since == known_since and known_number > number then
  number = known_number
  is_changed = true
end
if is_changed then
  edition = since .. '.' .. string.format('%015.0f', number + 1)
  call('SET', KEYS[2], edition)
end
return { edition, ARGV[2] == '1' and call('HGETALL', KEYS[1]) or {} }
