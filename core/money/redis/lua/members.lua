-- The processes that share a bucket, and its epochs: one operation, in files of their own beside this one.
--
-- KEYS[1] the epoch of the bucket; every other key of it begins alike, so all are in one slot
-- ARGV[1] operation  ARGV[2] process  then as each operation says
--
-- Everything of an epoch is under its number. A bucket that Redis has lost, or has restored from an old
-- snapshot, goes on in a new epoch: nothing of the old one can be touched any more by whoever has not noticed.
local call = redis.call
local me = ARGV[2]
local base = string.sub(KEYS[1], 1, -6)
local epoch = call('GET', KEYS[1]) or ''

local function key(name, of)
  return base .. (of or epoch) .. ':' .. name
end

local function now()
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Changes with every start of the server, and is in no snapshot.
local function server()
  return string.match(call('INFO', 'server'), 'run_id:(%x+)')
end

local function text(number)
  return string.format('%.0f', number)
end

-- Epochs are times, so that a later one is a larger one even where Redis remembers nothing.
local function begin(after)
  epoch = text(math.max(now(), tonumber(after) + 1))
  call('SET', KEYS[1], epoch)
end

-- Puts a process's outbox up for whoever claims it; an empty one is deleted.
local function leave_outbox(process, claimer)
  local outbox = key('o:' .. process)
  if call('XLEN', outbox) > 0 then
    call('HSET', base .. 'orphans', epoch .. '|' .. process, claimer)
  else
    call('DEL', outbox)
  end
end

-- Gives back what a process holds; a hold without a lease is of no process.
local function void_holds(process)
  local found = call('HGETALL', key('holds'))
  local voided = 0
  for at = 1, #found, 2 do
    local amount, holder, account, limits = string.match(found[at + 1], '^(%d+):([^:]*):([^|]*)(.*)$')
    if holder == process then
      call('HDEL', key('holds'), found[at])
      call('HINCRBY', key('w'), account .. ':a', amount)
      if amount ~= '0' then
        call('HINCRBY', key('w'), account .. ':h', '-' .. amount)
        for limit in string.gmatch(limits, '|[^|]+') do
          if call('HEXISTS', key('w'), account .. limit .. ':la') == 1 then
            call('HINCRBY', key('w'), account .. limit .. ':la', amount)
            call('HINCRBY', key('w'), account .. limit .. ':lh', '-' .. amount)
          end
        end
      end
      voided = voided + 1
    end
  end
  return voided
end

local function forget(process)
  call('HDEL', key('procs'), process)
  call('HDEL', key('beats'), process)
  call('HDEL', key('verified'), process)
  call('HDEL', key('joining'), process)
end
