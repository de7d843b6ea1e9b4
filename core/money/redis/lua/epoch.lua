-- The epoch of a bucket, and the gateways in it: see `membership.ts`. One operation a call.
--
-- KEYS[1] epoch of the bucket; its other keys share this key's hash tag, so all are in one slot
-- KEYS[2] a key that never exists: see `BucketKeys.ofEpoch`
-- ARGV[1] operation  ARGV[2] gateway  then the arguments of the operation
local call, operation, me, base = redis.call, ARGV[1], ARGV[2], string.sub(KEYS[1], 1, -6)
-- Epochs go on at maxmemory: a first write that needs no memory lets the others pass, see money.lua. A look tries one that does.
if operation ~= 'look' then
  call('DEL', base .. 'none')
end
local epoch = call('GET', KEYS[1]) or ''

local function key(name, of)
  return base .. (of or epoch) .. ':' .. name
end

-- The server's run_id, and the address of its Lua: every start makes new ones, and no snapshot contains them. Then its
-- replication id: a promotion makes a new one. By it alone a primary that was demoted, got other data, and was promoted
-- again differs from before.
local function server()
  return string.match(call('INFO', 'server'), 'run_id:(%x+)') .. ' ' .. tostring(redis) .. ' '
    .. string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
end

-- Makes the outbox of a gateway an orphan, claimed by `claimer` ('' for none). Deletes it if it is empty.
local function leave_outbox(gateway, claimer)
  local outbox = key('o:' .. gateway)
  if call('XLEN', outbox) > 0 then
    call('HSET', base .. 'orphans', epoch .. '|' .. gateway, claimer)
  else
    call('DEL', outbox)
  end
end

-- Voids all holds of a gateway.
local function void_holds(gateway)
  local found, voided = call('HGETALL', key('holds')), 0
  for at = 1, #found, 2 do
    local amount, holder, account, purses = string.match(found[at + 1], '^(%d+):([^:]*):([^|]*)(.*)$')
    if holder == gateway then
      call('HDEL', key('holds'), found[at])
      call('HINCRBY', key('w'), account .. ':a', amount)
      -- Of nothing too: Redis takes 0, and fails at -0.
      call('HINCRBY', key('w'), account .. ':h', 0 - amount)
      for purse in string.gmatch(purses, '|[^|=]+') do
        call('HINCRBY', key('w'), account .. purse .. ':a', amount)
        call('HINCRBY', key('w'), account .. purse .. ':h', 0 - amount)
      end
      voided = voided + 1
    end
  end
  return voided
end

local function forget(gateway)
  call('HDEL', key('procs'), gateway)
  call('HDEL', key('beats'), gateway)
end

-- Returns the orphaned outboxes, each followed by its claimer and how many entries it has left.
local function orphans()
  local found = call('HGETALL', base .. 'orphans')
  for at = 1, #found, 2 do
    local of, gateway = string.match(found[at], '^([^|]*)|(.*)$')
    local length = redis.pcall('XLEN', key('o:' .. gateway, of))
    found[at + 1] = found[at + 1] .. ' ' .. (type(length) == 'number' and string.format('%.0f', length) or '?')
  end
  return found
end

-- True if an outbox of an epoch before this one is not committed yet.
local function has_earlier_outbox()
  for _, orphan in ipairs(call('HKEYS', base .. 'orphans')) do
    if string.match(orphan, '^[^|]*') ~= epoch then
      return true
    end
  end
  return false
end

if operation == 'look' then
  -- Counts a heartbeat of this gateway, and returns what it must know: see `readView`.
  local operations = tonumber(call('HGET', key('procs'), me) or '-1')
  local beats = operations >= 0 and key('beats') or key('joining')
  local beat = epoch ~= '' and redis.pcall('HINCRBY', beats, me, '1')
  local is_full = type(beat) == 'table' and string.find(beat.err, '^OOM') ~= nil
  if is_full then
    call('DEL', base .. 'none')
    call('HINCRBY', beats, me, '1')
  elseif type(beat) == 'table' then
    return beat
  end
  return {
    epoch,
    operations,
    call('SISMEMBER', key('reaped'), me),
    server(),
    call('GET', key('server')) or '',
    call('EXISTS', key('open')),
    call('HGETALL', key('beats')),
    call('HGETALL', key('joining')),
    orphans(),
    has_earlier_outbox() and 1 or 0,
    is_full and 1 or 0,
  }
elseif operation == 'begin' then
  -- Ends an epoch, and begins the next one, on the server that has its script. Drops wallets and holds; the outboxes become
  -- orphans. ARGV: epoch to end, name of the next one, server. Returns '' if another gateway was faster, or if the server
  -- is another one.
  if epoch ~= ARGV[3] or server() ~= ARGV[5] then
    return ''
  end
  for _, gateway in ipairs(call('HKEYS', key('procs'))) do
    leave_outbox(gateway, '')
  end
  for _, name in ipairs({ 'w', 'holds', 'procs', 'beats', 'joining', 'reaped', 'open', 'server' }) do
    call('UNLINK', key(name))
  end
  epoch = ARGV[4]
  call('SET', KEYS[1], epoch)
  call('SET', key('server'), ARGV[5])
  return epoch
elseif operation == 'enter' then
  -- Makes this gateway a member. ARGV: epoch. Returns '' if the bucket has another one, or if the leases of this gateway
  -- were ended in it.
  if epoch ~= ARGV[3] or call('SISMEMBER', key('reaped'), me) == 1 then
    return ''
  end
  call('HSETNX', key('procs'), me, '1')
  call('HINCRBY', key('beats'), me, '1')
  call('HDEL', key('joining'), me)
  return epoch
elseif operation == 'leave' then
  -- Ends the membership of a gateway that stops. ARGV: epoch
  if epoch ~= ARGV[3] or call('HEXISTS', key('procs'), me) == 0 then
    return 0
  end
  forget(me)
  leave_outbox(me, '')
  return void_holds(me)
elseif operation == 'reap' then
  -- Ends the leases of a silent member: voids its holds, and claims its outbox for this gateway. ARGV: epoch, member, its
  -- heartbeat as this gateway last saw it. Returns the count of voided holds; -1 if the epoch or the heartbeat is
  -- another one by now, which changes nothing.
  local member = ARGV[4]
  if epoch ~= ARGV[3] or call('HGET', key('beats'), member) ~= ARGV[5] then
    return -1
  end
  forget(member)
  call('SADD', key('reaped'), member)
  leave_outbox(member, me)
  return void_holds(member)
elseif operation == 'open' then
  -- Allows wallets to be loaded in this epoch. ARGV: epoch. Returns 0 while an earlier outbox is not committed.
  if epoch ~= ARGV[3] or has_earlier_outbox() then
    return 0
  end
  call('SET', key('open'), '1')
  return 1
elseif operation == 'claim' then
  -- Claims an orphan. ARGV: orphan as "epoch|gateway", its claimer so far. Returns 0 if another gateway was faster.
  if call('HGET', base .. 'orphans', ARGV[3]) ~= ARGV[4] then
    return 0
  end
  call('HSET', base .. 'orphans', ARGV[3], me)
  return 1
elseif operation == 'finish' then
  -- Deletes an orphan if it is empty. ARGV: orphan. Returns 1 if it is deleted.
  local of, gateway = string.match(ARGV[3], '^([^|]*)|(.*)$')
  if call('XLEN', key('o:' .. gateway, of)) > 0 then
    return 0
  end
  call('DEL', key('o:' .. gateway, of))
  call('HDEL', base .. 'orphans', ARGV[3])
  return 1
elseif operation == 'hand-over' then
  -- Makes posts of an earlier epoch, whose gateway cannot reach the ledger, an orphan that no gateway has claimed. Their
  -- results stay known, so a post that is sent again finds that it is here. ARGV: epoch, the earlier one, then call, entry,
  -- charge and what was written off of each. Returns 0 if wallets may be loaded already: then they are posted again.
  if epoch ~= ARGV[3] or call('EXISTS', key('open')) == 1 then
    return 0
  end
  local place = ARGV[4] .. '|' .. me
  for at = 5, #ARGV, 4 do
    local result = base .. 'd:' .. ARGV[at]
    if call('EXISTS', result) == 0 then
      local id = call('XADD', key('o:' .. me, ARGV[4]), '*', 'e', ARGV[at + 1], 'c', ARGV[at + 2], 'o', ARGV[at + 3])
      call('SET', result, ARGV[at + 2] .. ':' .. ARGV[at + 3] .. ':' .. place .. '|' .. id)
      call('HSETNX', base .. 'orphans', place, '')
    end
  end
  return 1
end
