-- The members and epochs of a bucket. Runs one operation; each operation is a file beside this one.
--
-- KEYS[1] epoch of the bucket; its other keys share this key's hash tag, so all are in one slot
-- KEYS[2] a key that never exists: see `BucketKeys.ofMembers`
-- ARGV[1] operation  ARGV[2] process  then the arguments of the operation
--
-- All keys of an epoch carry its number. After a loss of data, or a restore from an old snapshot, the bucket gets a
-- new epoch. A process that still works in the old epoch cannot change the new one.
local call = redis.call
local me = ARGV[2]
local base = string.sub(KEYS[1], 1, -6)
-- Members go on at maxmemory: a first write that needs no memory lets the others pass, see money.lua.
call('DEL', base .. 'none')
local epoch = call('GET', KEYS[1]) or ''

local function key(name, of)
  return base .. (of or epoch) .. ':' .. name
end

local function now()
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Says that this process has verified its count on this server.
local function verify(run, data)
  call('HSET', key('verified'), me, run, me .. '@', data)
end

local function text(number)
  return string.format('%.0f', number)
end

-- Gives the bucket a new version, after every change of its epoch, members, orphans or loads. Gateways read the version
-- each second, and look at the rest when it is another one. A time, so that it is not repeated after a loss of data.
--
-- `changes` has a line for each of the last changes, the newest first: its version, the version before, and the member
-- that was changed ('' for none, '*' for all). So a look need not list the members that stay the same.
local function changed(member)
  local version = call('GET', base .. 'version') or '0'
  local later = text(math.max(now(), tonumber(version) + 1))
  call('SET', base .. 'version', later)
  local lines = later .. ' ' .. version .. ' ' .. (member or '') .. '\n' .. (call('GET', key('changes')) or '')
  -- 30 to 70 lines. What is left of a line that is cut is no line.
  call('SET', key('changes'), string.sub(lines, 1, 2048))
end

-- Returns the members that changed between two versions, each once; nil if that is not known.
local function changed_since(known, version)
  local members, seen = {}, {}
  local expected = version
  for own, before, member in string.gmatch(call('GET', key('changes')) or '', '(%d+) (%d+) ([^\n]*)\n') do
    if own ~= expected or member == '*' then
      return nil
    end
    if member ~= '' and not seen[member] then
      seen[member] = true
      members[#members + 1] = member
    end
    if before == known then
      return members
    end
    expected = before
  end
  return nil
end

-- An epoch is a time in ms, so a later one is larger even if Redis has lost the one before.
local function begin(after)
  epoch = text(math.max(now(), tonumber(after) + 1))
  call('SET', KEYS[1], epoch)
  changed()
end

-- Makes the outbox of a process an orphan, claimed by `claimer` ('' for none). Deletes it if it is empty.
local function leave_outbox(process, claimer)
  local outbox = key('o:' .. process)
  if call('XLEN', outbox) > 0 then
    call('HSET', base .. 'orphans', epoch .. '|' .. process, claimer)
  else
    call('DEL', outbox)
  end
end

-- The process that has a hold: see `money.lua`.
local function process_of(holder)
  return string.match(holder, '^[^@]*')
end

-- Voids all holds of a process. The ledger may have the movement of a hold: such a hold stays, without a process.
local function void_holds(process)
  local found = call('HGETALL', key('holds'))
  local voided = 0
  for at = 1, #found, 2 do
    local amount, holder, account, limits = string.match(found[at + 1], '^(%d+):([^:]*):([^|]*)(.*)$')
    local since = string.match(holder, '@.*$')
    if process_of(holder) == process and since then
      call('HSET', key('holds'), found[at], amount .. ':' .. since .. ':' .. account .. limits)
    elseif holder == process then
      call('HDEL', key('holds'), found[at])
      -- A wallet with a hold of 0 may be closed: HINCRBY of 0 would make it a wallet without money.
      if amount ~= '0' then
        call('HINCRBY', key('w'), account .. ':a', amount)
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
  call('HDEL', key('verified'), process, process .. '@')
  call('HDEL', key('joining'), process)
  changed(process)
end
