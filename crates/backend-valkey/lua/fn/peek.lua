-- The first timer of partitions and the heads of some lanes in them, to find what nobody announced.
--
-- keys: routing keys. args: how many classes of a lane in one partition are looked at, then the names
--       of one or more lanes. Of more classes, some are drawn at random.
-- reply: for each partition {routing key, time of the first timer or '', then for each lane
--       {1 if all its classes were looked at (else 0), then class, head score, how many it holds and
--       requirements of each queue that holds something}}.

local function look(k, name, class, requires, into)
  local key = ff.queue_key(k, class == '' and name or name .. ':' .. class)
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if head then
    local at = #into
    into[at + 1], into[at + 2], into[at + 3], into[at + 4] = class, head, call('ZCARD', key), requires
  end
end

local function lane(k, name, most)
  local found = {1}
  look(k, name, '', '', found)
  local classes = call('HRANDFIELD', ff.queue.classes_key(k, ff.queue.parts(name)), most, 'WITHVALUES')
  for i = 1, #classes, 2 do
    look(k, name, classes[i], classes[i + 1], found)
  end
  if #classes >= 2 * most then
    found[1] = 0
  end
  return found
end

register('peek', function(keys, args)
  local reply, most = {}, tonumber(args[1])
  for i, route in ipairs(keys) do
    local k = ff.keys(route)
    local found = {route, call('ZRANGE', k.timer, 0, 0, 'WITHSCORES')[2] or ''}
    for at = 2, #args do
      found[at + 1] = lane(k, args[at], most)
    end
    reply[i] = found
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 1, 1, {1})
