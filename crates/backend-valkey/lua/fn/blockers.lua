-- The budgets and quotas that executions wait for, in the order of their names.
--
-- keys: routing keys. args: NAMESPACE:KIND:NAME to begin after ('' for the start), how many of each
--       partition at most.
-- reply: NAMESPACE:KIND:NAME of each.

register('blockers', function(keys, args)
  local reply, limit = {}, tonumber(args[2])
  for _, route in ipairs(keys) do
    local k, name = ff.keys(route), args[1]
    for _ = 1, limit do
      name = ff.blocked.after(k, name)
      if not name then
        break
      end
      reply[#reply + 1] = name
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 2, nil, {2})
