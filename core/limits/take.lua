-- KEYS[1] theoretical arrival time of a key's next call. ARGV: interval between calls (ms), burst
-- (calls). The generic cell rate algorithm, with the numbers of embedded.ts. Times are of the Redis
-- server, so that gateways with different clocks agree. Its clock may step back: a time beyond the
-- burst, which may also be of another limit, counts as the burst.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tolerance = interval * burst
local stored = tonumber(redis.call('GET', KEYS[1])) or now
local base = math.min(math.max(stored, now), now + tolerance)
local upcoming = base + interval
local allowed = upcoming - now <= tolerance + 1e-3
local arrival = allowed and upcoming or base
if arrival ~= stored then
  redis.call('SET', KEYS[1], string.format('%.3f', arrival), 'PX', math.ceil(arrival - now) + 1)
end
return {
  allowed and 1 or 0,
  math.max(0, math.floor((tolerance - (arrival - now)) / interval + 1e-6)),
  math.max(0, math.ceil(arrival - now)),
  allowed and 0 or math.max(1, math.ceil(upcoming - now - tolerance)),
}
