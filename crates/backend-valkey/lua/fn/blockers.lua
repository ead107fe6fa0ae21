-- The budgets and quotas that somebody waits for.
--
-- keys: routing keys. args: how many of each partition at most.
-- reply: NAMESPACE:KIND:NAME of each.

register('blockers', function(keys, args)
  local reply = {}
  for _, route in ipairs(keys) do
    for _, name in ipairs(call('SRANDMEMBER', ff.keys(route).blockers, tonumber(args[1]))) do
      reply[#reply + 1] = name
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 1, nil, {1})
