local replies, k, a = { n }, 4, 2
while ARGV[a] do
  local name, keys, args = ARGV[a], ARGV[a + 1], ARGV[a + 2]
  a = a + 3
  local reply = { 'full' }
  -- At its maxmemory Redis still does what gives memory back. A post that it has already, by an earlier attempt without a reply,
  -- needs none either: only its result lets its process commit it, which gives memory back.
  if not is_full or name == 'acknowledge' or name == 'void' or name == 'close' or name == 'noop'
    or name == 'post' and call('EXISTS', KEYS[k + 1]) == 1 then
    local done
    done, reply = pcall(operations[name], k, a, a + args - 1)
    -- One that fails, say at a field that is no number, fails alone.
    if not done then
      reply = { 'failed', type(reply) == 'table' and reply.err or tostring(reply) }
    end
  end
  replies[#replies + 1] = reply
  k, a = k + keys, a + args
end
return replies
