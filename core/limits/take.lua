-- KEYS[1] theoretical arrival time of a key's next call. ARGV: interval between calls (ms), burst
-- (calls). The generic cell rate algorithm, with the numbers of gcra.ts. Times are of the Redis
-- server, so that gateways with different clocks agree.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tolerance = interval * burst
local base = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now)
local upcoming = base + interval
local allowed = upcoming - now <= tolerance + 1e-3
if allowed then
  redis.call('SET', KEYS[1], string.format('%.3f', upcoming), 'PX', math.ceil(upcoming - now) + 1)
end
local arrival = allowed and upcoming or base
return {
  allowed and 1 or 0,
  math.max(0, math.floor((tolerance - (arrival - now)) / interval + 1e-6)),
  math.max(0, math.ceil(arrival - now)),
  allowed and 0 or math.max(1, math.ceil(upcoming - now - tolerance)),
}
