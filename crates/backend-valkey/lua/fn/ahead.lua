-- How many executions precede a place in the queues of one name.
--
-- keys: routing keys. args: the name of the queues, score and id of the place.
-- reply: how many.

register('ahead', function(keys, args)
  local name, score, id, count = args[1], tonumber(args[2]), args[3], 0
  for _, route in ipairs(keys) do
    count = count + ff.rank(ff.key.queue(ff.keys(route), name), score, id, true)
  end
  return count
end, {'no-writes', 'allow-cross-slot-keys'}, 3, nil, {2})
