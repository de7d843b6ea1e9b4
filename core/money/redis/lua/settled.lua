-- Counts a heartbeat of this process in each of its settled buckets, instead of a look at each, which costs five times
-- as much. The buckets are in several slots, so this is not for a cluster.
-- KEYS[1] a key that never exists, then `procs` of each bucket's epoch
-- ARGV: the server, as `look` returns it, then for each bucket the member that this process is there, the count of
-- operations that Redis acknowledged to it, and how many members it knows
-- Returns for each bucket 0 if it needs a look, else 1, or 2 if it has holds of any process.
-- At maxmemory heartbeats go on: a first write that needs no memory lets the others pass, see money.lua.
local call = redis.call
call('DEL', KEYS[1])
local is_same_server = string.find(ARGV[1], tostring(redis), 1, true)
local states = {}
for at = 2, #KEYS do
  local me, seen, count = ARGV[3 * at - 4], tonumber(ARGV[3 * at - 3]), tonumber(ARGV[3 * at - 2])
  local operations = is_same_server and call('HGET', KEYS[at], me)
  local state = 0
  if operations and tonumber(operations) >= seen then
    local under = string.sub(KEYS[at], 1, -6)
    call('HINCRBY', under .. 'beats', me, '1')
    if call('HLEN', under .. 'beats') == count then
      state = 1 + call('EXISTS', under .. 'holds')
    end
  end
  states[#states + 1] = state
end
return states
