-- Those that wait for a budget or a quota, the first ones of each partition.
--
-- keys: routing keys. args: NAMESPACE:KIND:NAME, how many of each partition at most.
-- reply: scores and ids, one after the other.

register('blocked', function(keys, args)
  local name, limit, reply = args[1], tonumber(args[2]), {}
  for _, route in ipairs(keys) do
    local key = ff.blocked.key(ff.keys(route), name)
    local page = call('ZRANGE', key, 0, limit - 1, 'WITHSCORES')
    for i = 1, #page, 2 do
      reply[#reply + 1] = page[i + 1]
      reply[#reply + 1] = page[i]
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 2, nil, {2})
