-- How many executions come before a place in the queues of one name.
--
-- keys: routing keys. args: the name of the queues, score and id of the place.
-- reply: how many.

-- Of those that were queued in the same millisecond, so many are compared.
local MOST = 1000

register('ahead', function(keys, args)
  local name, score, id, count = args[1], args[2], args[3], 0
  for _, route in ipairs(keys) do
    local key = ff.queue_key(ff.keys(route), name)
    count = count + call('ZCOUNT', key, '-inf', '(' .. score)
    for _, other in ipairs(call('ZRANGEBYSCORE', key, score, score, 'LIMIT', 0, MOST)) do
      count = count + (other < id and 1 or 0)
    end
  end
  return count
end, {'no-writes', 'allow-cross-slot-keys'}, 3, nil, {2})
