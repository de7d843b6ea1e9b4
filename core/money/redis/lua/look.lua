-- Counts a heartbeat of this process in the bucket, and returns the bucket's state: see `BucketView`.
-- ARGV: epoch that it last joined ('0' for none), count of operations that Redis acknowledged to it, 1 if it commits
-- posts of the earlier epoch before it joins this one, the server that it last found ('' for none); then version of the
-- members that it knows, 1 to list them even if they are the same; 1 if those that changed are enough; 1 if its heartbeat
-- has lately found the same server: then the address shows it well enough, and costs 15 us less; 1 if Redis is a cluster
-- Returns false if a part of the bucket is missing: wallets, holds or an outbox. The slot of a cluster moves key by key, so
-- a node that fails on the way loses some keys, and the count of operations may be at the other node. Holds and outboxes
-- add up to what the wallets say. One Redis loses no part alone, and adding up a million wallets would take it 15 s.
local function is_whole()
  local held, uncommitted = 0, 0
  local fields = call('HGETALL', key('w'))
  for at = 1, #fields, 2 do
    local part = string.sub(fields[at], -2)
    if part == ':h' then
      held = held + tonumber(fields[at + 1])
    elseif part == ':p' then
      uncommitted = uncommitted + tonumber(fields[at + 1])
    end
  end
  for _, hold in ipairs(call('HVALS', key('holds'))) do
    held = held - tonumber(string.match(hold, '^%d+'))
  end
  local outboxes = {}
  for _, process in ipairs(call('HKEYS', key('procs'))) do
    outboxes[key('o:' .. process)] = true
  end
  for _, orphan in ipairs(call('HKEYS', base .. 'orphans')) do
    local of, process = string.match(orphan, '^(%d+)|(.*)$')
    if of == epoch then
      outboxes[key('o:' .. process)] = true
    end
  end
  local posts = 0
  for outbox in pairs(outboxes) do
    posts = posts + call('XLEN', outbox)
  end
  -- 10,000 posts take 60 ms. More, after a long outage of Postgres, would stop all calls for too long.
  if posts > 10000 then
    return held == 0
  end
  for outbox in pairs(outboxes) do
    for _, entry in ipairs(call('XRANGE', outbox, '-', '+')) do
      for field = 1, #entry[2], 2 do
        if entry[2][field] == 'c' then
          uncommitted = uncommitted - tonumber(entry[2][field + 1])
        end
      end
    end
  end
  return held == 0 and uncommitted == 0
end

local found = ARGV[6] or ''
local run, data = string.match(found, '^(.*) (%x+)$')
if ARGV[10] ~= '1' or not run or not string.find(found, tostring(redis), 1, true) then
  run, data = server()
  found = run .. ' ' .. data
end
local operations = tonumber(call('HGET', key('procs'), me) or '-1')
if operations >= 0 and ARGV[3] == epoch and operations >= tonumber(ARGV[4]) then
  call('HINCRBY', key('beats'), me, '1')
  if ARGV[6] == found then
    local known = call('HMGET', key('verified'), me, me .. '@', '#')
    if known[3] ~= found and (ARGV[11] ~= '1' or is_whole()) then
      known[3] = found
      call('HSET', key('verified'), '#', found)
    end
    if known[3] ~= found then
      operations = -1
    elseif known[1] ~= run or known[2] ~= data then
      verify(run, data)
      changed(me)
    end
  elseif ARGV[6] ~= '' then
    -- The data comes from another server. What members have verified may be from before that server took over.
    call('DEL', key('verified'))
    changed('*')
  end
elseif ARGV[5] == '1' and epoch ~= '' then
  if call('HINCRBY', key('joining'), me, '1') == 1 then
    changed()
  end
end
local version = call('GET', base .. 'version') or ''
local procs = false
local changes = false
local is_same = ARGV[8] == '0' and ARGV[3] == epoch and ARGV[6] == found
if is_same and ARGV[9] == '1' and ARGV[7] ~= version then
  local members = changed_since(ARGV[7], version)
  if members then
    changes = {}
    for _, process in ipairs(members) do
      local beat = call('HGET', key('beats'), process)
      if beat then
        local known = call('HMGET', key('verified'), process, process .. '@')
        local is_verified = known[1] == run and known[2] == data
        changes[#changes + 1] = { process, beat, is_verified and '1' or '0' }
      else
        changes[#changes + 1] = { process }
      end
    end
  end
end
if not changes and not (is_same and ARGV[7] == version) then
  procs = {}
  local verified = {}
  local servers = call('HGETALL', key('verified'))
  for at = 1, #servers, 2 do
    verified[servers[at]] = servers[at + 1]
  end
  local beats = call('HGETALL', key('beats'))
  for at = 1, #beats, 2 do
    local process = beats[at]
    local is_verified = verified[process] == run and verified[process .. '@'] == data
    procs[#procs + 1] = { process, beats[at + 1], is_verified and '1' or '0' }
  end
end
return {
  epoch,
  operations,
  call('SISMEMBER', key('reaped'), me),
  call('EXISTS', key('open')),
  procs,
  call('HGETALL', key('joining')),
  call('HGETALL', base .. 'orphans'),
  found,
  version,
  call('EXISTS', key('holds')),
  changes,
  ARGV[3] == '0' and call('HGET', key('w'), ':edition') or '',
}
