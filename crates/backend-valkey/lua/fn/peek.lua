-- The first timer and the queues of partitions, to find what nobody announced.
--
-- keys: routing keys. args: none.
-- reply: for each {routing key, time of the first timer or '', then name, head score (''
--       if it holds nothing), how many it holds and requirements of each registered queue}.

local function peek(route)
  local k = ff.keys(route)
  local timer = call('ZRANGE', k.timer, 0, 0, 'WITHSCORES')
  local found = {route, timer[2] or ''}
  for _, name in ipairs(call('SMEMBERS', k.queues)) do
    local head = call('ZRANGE', ff.queue_key(k, name), 0, 0, 'WITHSCORES')
    local at, ns, lane, class = #found, ff.queue.parts(name)
    found[at + 1] = name
    found[at + 2] = head[2] or ''
    found[at + 3] = head[2] and call('ZCARD', ff.queue_key(k, name)) or 0
    found[at + 4] = class ~= '' and head[2]
      and call('HGET', ff.queue.classes_key(k, ns, lane), class) or ''
  end
  return found
end

register('peek', function(keys)
  local reply = {}
  for i, route in ipairs(keys) do
    reply[i] = peek(route)
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 0)
