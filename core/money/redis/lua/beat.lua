-- Records that a process is alive in all its buckets, and returns the heartbeats of others, then the server as `look`
-- does. It is about processes, not about buckets, so it runs once a second for a process.
-- KEYS[1] a key that never exists  KEYS[2] heartbeat of this process  then those of the processes that it watches
-- ARGV: its count of heartbeats ('' for none: it is not alive in all buckets), ms after which a heartbeat expires
-- At maxmemory heartbeats go on: a first write that needs no memory lets the others pass, see money.lua.
redis.call('DEL', KEYS[1])
if ARGV[1] ~= '' then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
local beats = #KEYS > 2 and redis.call('MGET', unpack(KEYS, 3)) or {}
for at = 1, #beats do
  beats[at] = beats[at] or ''
end
local run, data = server()
beats[#beats + 1] = run .. ' ' .. data
return beats
