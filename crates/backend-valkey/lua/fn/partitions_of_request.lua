-- The partitions in which a claim or grant holds something.
--
-- keys: routing keys. args: request (16 bytes).
-- reply: the routing keys of those partitions.

register('partitions_of_request', function(keys, args)
  local reply = {}
  local from, to = ff.name.beginning(args[1])
  for _, route in ipairs(keys) do
    local requests = ff.keys(route).requests
    local members = call('ZRANGEBYLEX', requests, from, to, 'LIMIT', 0, 1)
    if members[1] then
      reply[#reply + 1] = route
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 1)
