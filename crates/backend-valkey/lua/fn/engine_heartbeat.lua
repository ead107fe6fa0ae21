-- Records that an engine process is alive.
--
-- keys: the set of engines. args: its name (16 bytes), for how many ms a silent one counts as alive.
-- reply: the names of all live ones.

register('engine_heartbeat', function(keys, args)
  local now = now()
  call('ZADD', keys[1], now, args[1])
  call('ZREMRANGEBYSCORE', keys[1], '-inf', '(' .. string.format('%.0f', now - args[2]))
  return call('ZRANGE', keys[1], 0, -1)
end, {'allow-oom'}, 2, nil, {2})
