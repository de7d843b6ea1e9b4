-- Counts a heartbeat of this process, and returns the state of the bucket: see `BucketView`.
-- ARGV: epoch that it last joined ('0' for none), count of operations that Redis acknowledged to it, 1 if it commits
-- posts of the earlier epoch before it joins this one, the server that it last found ('' for none)
local run = server()
local operations = tonumber(call('HGET', key('procs'), me) or '-1')
if operations >= 0 and ARGV[3] == epoch and operations >= tonumber(ARGV[4]) then
  call('HINCRBY', key('beats'), me, '1')
  if ARGV[6] == run then
    call('HSET', key('verified'), me, run)
  elseif ARGV[6] ~= '' then
    -- It comes from another server. What members verified here before may be from before that server took over.
    call('DEL', key('verified'))
  end
elseif ARGV[5] == '1' and epoch ~= '' then
  call('HINCRBY', key('joining'), me, '1')
end
local procs = {}
local beats = call('HGETALL', key('beats'))
for at = 1, #beats, 2 do
  local verified = call('HGET', key('verified'), beats[at]) == run and '1' or '0'
  procs[#procs + 1] = { beats[at], beats[at + 1], verified }
end
return {
  epoch,
  operations,
  call('SISMEMBER', key('reaped'), me),
  call('EXISTS', key('open')),
  procs,
  call('HGETALL', key('joining')),
  call('HGETALL', base .. 'orphans'),
  run,
}
