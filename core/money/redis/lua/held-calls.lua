-- Returns the calls that have a hold of this process; and the holds of movements that no process has, each as its
-- call, amount and account.
local found = call('HGETALL', key('holds'))
local own, unowned = {}, {}
for at = 1, #found, 2 do
  local amount, holder, account = string.match(found[at + 1], '^(%d+):([^:]*):([^|]*)')
  local process = process_of(holder)
  if process == me then
    own[#own + 1] = found[at]
  elseif process == '' then
    unowned[#unowned + 1] = { found[at], amount, account }
  end
end
return { own, unowned }
