-- Runs operations on money, one after another: those that a gateway gathered in one turn. Each operation is a file beside this
-- one; `scripts.ts` joins them into one script per bucket, `run.lua` last.
--
-- KEYS[1] members of this epoch  KEYS[2] wallets  KEYS[3] holds  then the keys of each operation
-- ARGV[1] process  then a text for each operation: its name and how many keys it has, and its fields, each ended by a zero
-- byte. An operation gets the place of its first key, its text, and where its fields begin: k, text, at.
--
-- Amounts are integers of at most 2^53 - 1, which a Lua number holds exactly, and which Redis takes from a script with all
-- digits. digits() writes them too; Lua itself would write 1e+15. Replies carry amounts as text: the client's parser adds digit
-- by digit and is off by one close to 2^53.
--
-- The reply is the count of this process's scripts in this epoch, then a text for each operation: a word and its fields, one a line.
-- The count only rises: a process that gets a lower one knows that Redis lost data. A process that is not a member, or is in an
-- earlier epoch, changes nothing and gets 0.
local KEYS, ARGV = KEYS, ARGV
local wallets, holds = KEYS[2], KEYS[3]
local owner = ARGV[1]
local call = redis.call

-- A script that was sent to `home` may reach another server, if that one takes over on the way: then it does nothing.
-- `home` is certain, but takes 10 us; `noop` reads it, which begins the use of a server, and is sent alone. The others compare the
-- address of this table, which takes 0.3 us, and differs between two servers if the system places memory at random.
if tostring(redis) ~= address
  or ARGV[2] == 'noop\0000\0' and (string.match(call('INFO', 'server'), 'run_id:(%x+)') ~= home
    or string.match(call('INFO', 'replication'), 'master_replid:(%x+)') ~= data) then
  return redis.error_reply('NOSCRIPT This script is for another server.')
end

-- A Redis at its maxmemory refuses a script whose first write needs memory. After one that needs none it takes the others.
local n = redis.pcall('HINCRBY', KEYS[1], owner, '1')
local is_full = type(n) == 'table' and string.find(n.err, '^OOM') ~= nil
if is_full then
  call('HDEL', KEYS[1], '')
  n = call('HINCRBY', KEYS[1], owner, '1')
elseif type(n) == 'table' then
  return n
end
if n < 2 then
  call('HDEL', KEYS[1], owner)
  return { 0 }
end

local function digits(amount)
  return string.format('%d', amount)
end

-- Parses a hold: `<amount>:<process>:<account>`, then `|<name>=<limit>` for each purse that it counts against. A purse is a wallet
-- that begins at 0 and may go below it: under `<account>|<name>` it has the parts of a wallet.
local function parts(hold)
  local amount = string.find(hold, ':', 1, true)
  local holder = string.find(hold, ':', amount + 1, true)
  local account = string.find(hold, '|', holder + 1, true) or #hold + 1
  return tonumber(string.sub(hold, 1, amount - 1)), string.sub(hold, amount + 1, holder - 1),
    string.sub(hold, holder + 1, account - 1), string.sub(hold, account)
end

-- Returns what is left for a hold of `available` of a wallet and of its purses, and the name of the one that leaves least. Nil if
-- one is not loaded.
local function left(available, account, purses)
  available = tonumber(available)
  local short = 'wallet'
  if not available or purses == '' then
    return available, short
  end
  for name, limit in string.gmatch(purses, '|([^|=]+)=(%d+)') do
    local balance = call('HGET', wallets, account .. '|' .. name .. ':a')
    if not balance then
      return nil
    end
    if limit + balance < available then
      available, short = limit + balance, name
    end
  end
  return available, short
end

-- Changes the parts of a wallet, or of a purse.
local function add(key, available, held, uncommitted)
  if available ~= 0 then
    call('HINCRBY', wallets, key .. ':a', available)
  end
  if held ~= 0 then
    call('HINCRBY', wallets, key .. ':h', held)
  end
  if uncommitted ~= 0 then
    call('HINCRBY', wallets, key .. ':p', uncommitted)
  end
end

-- Changes the parts of a wallet and of its purses.
local function move(account, purses, available, held, uncommitted)
  add(account, available, held, uncommitted)
  if purses ~= '' then
    for name in string.gmatch(purses, '|[^|=]+') do
      add(account .. name, available, held, uncommitted)
    end
  end
end

local operations = {}
