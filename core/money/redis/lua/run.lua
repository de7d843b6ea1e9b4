local replies, k = { n }, 4
for i = 2, #ARGV do
  local text = ARGV[i]
  local name, keys, at = struct.unpack('ss', text)
  local reply = 'full'
  -- At its maxmemory Redis still does what gives memory back. A post that it has already, by an earlier attempt without a reply,
  -- needs none either: only its result lets its process commit it, which gives memory back.
  if not is_full or name == 'acknowledge' or name == 'void' or name == 'close' or name == 'noop'
    or name == 'post' and call('EXISTS', KEYS[k + 1]) == 1 then
    local done
    done, reply = pcall(operations[name], k, text, at)
    -- One that fails, say at a field that is no number, fails alone.
    if not done then
      reply = 'failed\n' .. (type(reply) == 'table' and reply.err or tostring(reply))
    end
  end
  replies[i] = reply
  k = k + keys
end
return replies
