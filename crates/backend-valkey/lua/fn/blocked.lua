-- Executions that wait for a budget or a quota, grouped by admission class, the first ones of each
-- partition.
--
-- keys: routing keys. args: NAMESPACE:KIND:NAME, the first class, how many classes and how many of
--       each class in one partition at most.
-- reply: for each class of each partition its name, then scores and ids one after the other.

register('blocked', function(keys, args)
  local name, from, classes, each = args[1], args[2], tonumber(args[3]), tonumber(args[4])
  local reply = {}
  for _, route in ipairs(keys) do
    local k = ff.keys(route)
    for _, waiting in ipairs(ff.blocked.classes(k, name, from, classes)) do
      local class = {ff.name.admission_class(waiting)}
      local page = call('ZRANGE', ff.key.blocked(k, waiting), 0, each - 1, 'WITHSCORES')
      for i = 1, #page, 2 do
        class[#class + 1] = page[i + 1]
        class[#class + 1] = page[i]
      end
      reply[#reply + 1] = class
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 4, nil, {3, 4})
