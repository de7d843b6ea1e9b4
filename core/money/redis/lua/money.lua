-- Runs one operation on money, atomically. Each operation is a file beside this one; `scripts.ts` joins them into
-- one script per bucket.
--
-- KEYS[1] members of this epoch  KEYS[2] wallets  KEYS[3] holds  then the keys of the operation
-- ARGV[1] operation  ARGV[2] process  then the arguments of the operation
--
-- Amounts are integers of at most 2^53 - 1, which a Lua number holds exactly. text() writes all their digits; Lua
-- itself would write 1e+15. Replies carry amounts as text too: the client's parser adds digit by digit and is off by
-- one close to 2^53.
--
-- A reply begins with the count of this process's operations in this epoch. The count only rises: a process that gets a
-- lower one knows that Redis lost data. A process that is not a member, or is in an earlier epoch, changes nothing and gets 0.
local wallets, holds = KEYS[2], KEYS[3]
local owner = ARGV[2]
local call = redis.call

-- A script that was sent to `home` may reach another server, if that one takes over on the way: then it does nothing.
-- `home` is certain, but takes 10 us; `noop` reads it, which begins the use of a server. The others compare the address
-- of this table, which takes 0.3 us, and differs between two servers if the system places memory at random.
if tostring(redis) ~= address
  or ARGV[1] == 'noop' and (string.match(call('INFO', 'server'), 'run_id:(%x+)') ~= home
    or string.match(call('INFO', 'replication'), 'master_replid:(%x+)') ~= data) then
  return redis.error_reply('NOSCRIPT This script is for another server.')
end

-- A Redis at its maxmemory refuses a script whose first write needs memory. These operations give memory back, so they
-- begin with a write that needs none and changes nothing. A post that Redis has already, by an earlier attempt without a
-- reply, needs no memory either: only its result lets its process commit it, which gives memory back.
local done = ARGV[1] == 'post' and call('GET', KEYS[5])
if done or ARGV[1] == 'acknowledge' or ARGV[1] == 'void' or ARGV[1] == 'close' or ARGV[1] == 'noop' then
  call('HDEL', KEYS[1], '')
end
local n = call('HINCRBY', KEYS[1], owner, '1')
if n < 2 then
  call('HDEL', KEYS[1], owner)
  return { 0 }
end

local function text(amount)
  return string.format('%.0f', amount)
end

local function add(account, part, amount)
  if amount ~= 0 then
    call('HINCRBY', wallets, account .. part, text(amount))
  end
end

-- Parses a hold: `<amount>:<process>:<account>`, then `|<name>` for each limit that it counts against.
local function parts(hold)
  local amount, holder, account, limits = string.match(hold, '^(%d+):([^:]*):([^|]*)(.*)$')
  return tonumber(amount), holder, account, limits
end

-- Adds to the parts of every limit in `|<name>|<name>`. Of a limit that is not set, keeps the uncommitted charges, and
-- how often there were some: a reading of the ledger may lack them, so `set-limit` waits until they are committed.
local function add_to_limits(account, limits, available, held, uncommitted)
  for limit in string.gmatch(limits, '|[^|]+') do
    if call('HEXISTS', wallets, account .. limit .. ':la') == 1 then
      add(account .. limit, ':la', available)
      add(account .. limit, ':lh', held)
      add(account .. limit, ':lp', uncommitted)
    elseif uncommitted ~= 0 then
      add(account .. limit, ':ls', uncommitted)
      add(account .. limit, ':lc', 1)
    end
  end
end

local function give_back(call_id)
  local hold = call('HGET', holds, call_id)
  if not hold then
    return
  end
  local amount, _, account, limits = parts(hold)
  call('HDEL', holds, call_id)
  add(account, ':a', amount)
  add(account, ':h', 0 - amount)
  add_to_limits(account, limits, amount, 0 - amount, 0)
end
