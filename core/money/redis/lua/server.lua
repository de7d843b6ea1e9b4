-- Returns the server's run_id, and the address of its Lua: every start makes new ones, and no snapshot contains them.
-- Then its replication id: a promotion makes a new one. By it alone a primary that was demoted, got other data, and was
-- promoted again differs from before.
local function server()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. ' ' .. tostring(redis),
    string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
end

