-- One operation on money, atomic: the operations are in files of their own beside this one, put together
-- with it into one script for each bucket.
--
-- KEYS[1] processes of this epoch  KEYS[2] wallets  KEYS[3] holds  then as each operation says
-- ARGV[1] operation  ARGV[2] process  then as each operation says
--
-- Amounts are integers of at most 2^53 - 1, which a Lua number holds exactly; text() writes all their
-- digits, where Lua itself would write 1e+15. They are answered as text too: the client's parser adds digit
-- by digit and is off by one close to 2^53.
--
-- A reply begins with the number of operations this process has done in this bucket. It only ever rises,
-- so a process that is told a lower one knows that Redis has lost something. A process that is not a member
-- (any more) does nothing: it gets 0.
local wallets, holds = KEYS[2], KEYS[3]
local owner = ARGV[2]
local call = redis.call

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

-- A hold is `<amount>:<process>:<account>`, and `|<name>` for each limit that it counts against beside the wallet.
local function parts(hold)
  local amount, holder, account, limits = string.match(hold, '^(%d+):([^:]*):([^|]*)(.*)$')
  return tonumber(amount), holder, account, limits
end

-- Moves amounts into the parts of every limit in `|<name>|<name>`. One that is not set (any more) has none.
local function add_to_limits(account, limits, available, held, uncommitted)
  for limit in string.gmatch(limits, '|[^|]+') do
    if call('HEXISTS', wallets, account .. limit .. ':la') == 1 then
      add(account .. limit, ':la', available)
      add(account .. limit, ':lh', held)
      add(account .. limit, ':lp', uncommitted)
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
