#!lua name=ffbench_limit
-- The least that a submit, a claim and a complete must do, without decisions: the baseline of the
-- engine. Keys begin with KEYS[1], which carries the tag.

-- Creates executions.
-- args: time, then for each execution: id, payload. reply: how many.
redis.register_function('ffbench_create', function(keys, args)
  local base, now = keys[1], args[1]
  for at = 2, #args, 2 do
    local id, payload = args[at], args[at + 1]
    local key = base .. ':e:' .. id
    redis.call('HSET', key, 'state', 'queued', 'namespace', 'default', 'lane', 'default', 'kind', 'task',
      'priority', '0', 'created', now, 'queued', now, 'version', '1', 'epoch', '0', 'attempt', '0', 'run', '0')
    redis.call('SET', key .. ':in', payload)
    redis.call('ZADD', base .. ':queue', now, id)
    redis.call('ZADD', base .. ':list', now, id)
  end
  return (#args - 1) / 2
end)

-- Claims the head of the queue.
-- args: time, how many at most, worker. reply: id, payload of each.
redis.register_function('ffbench_claim', function(keys, args)
  local base, now, most, worker = keys[1], args[1], args[2], args[3]
  local ids = redis.call('ZRANGE', base .. ':queue', 0, most - 1)
  if #ids == 0 then
    return ids
  end
  redis.call('ZREM', base .. ':queue', unpack(ids))
  local reply = {}
  for at, id in ipairs(ids) do
    local key = base .. ':e:' .. id
    redis.call('HMGET', key, 'state', 'namespace', 'lane', 'version', 'epoch', 'attempt')
    redis.call('HSET', key, 'state', 'active', 'version', '2', 'epoch', '1', 'worker', worker, 'until', now)
    redis.call('ZADD', base .. ':timers', now, id)
    reply[2 * at - 1] = id
    reply[2 * at] = redis.call('GET', key .. ':in')
  end
  return reply
end)

-- Completes executions.
-- args: time, then for each execution: id, result. reply: how many.
redis.register_function('ffbench_complete', function(keys, args)
  local base, now = keys[1], args[1]
  for at = 2, #args, 2 do
    local id, result = args[at], args[at + 1]
    local key = base .. ':e:' .. id
    redis.call('HMGET', key, 'state', 'version', 'epoch', 'worker')
    redis.call('HSET', key, 'state', 'finished', 'version', '3', 'ended', now, 'until', '0')
    redis.call('SET', key .. ':out', result)
    redis.call('ZADD', base .. ':timers', now, id)
  end
  return (#args - 1) / 2
end)
