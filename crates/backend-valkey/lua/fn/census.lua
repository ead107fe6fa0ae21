-- How much waits, and for what.
--
-- keys: routing keys. args: none.
-- reply: the time, how many workers, then {name, how many, score of the first} of each queue that
--       holds something, then {NAMESPACE:KIND:NAME, how many} of each budget and quota that some
--       wait for.

register('census', function(keys)
  local workers, queues, blocked = 0, {}, {}
  for _, route in ipairs(keys) do
    local k = ff.keys(route)
    for _, name in ipairs(call('SMEMBERS', k.queues)) do
      local key = ff.queue_key(k, name)
      local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')
      if head[2] then
        queues[#queues + 1] = {name, call('ZCARD', key), head[2]}
      end
    end
    for _, name in ipairs(call('ZRANGE', k.blockers, 0, -1)) do
      local limit = string.sub(name, 1, -C.CLASS_NAME - 2)
      blocked[#blocked + 1] = {limit, call('ZCARD', ff.blocked.key(k, name))}
    end
    workers = workers + call('ZLEXCOUNT', k.resources, '[worker:', '(worker;')
  end
  return {now(), workers, queues, blocked}
end, {'no-writes', 'allow-cross-slot-keys'}, 0)
