-- The first timer of partitions and the heads of some lanes in them, to find work whose announcement was lost.
--
-- keys: routing keys. args: how many classes of a lane in one partition are read, then the names
--       of one or more lanes. Of more classes, some are drawn at random.
-- reply: for each partition {routing key, time of the first timer or '', then for each lane
--       {1 if all its classes were read (else 0), then class, head score, how many it holds and
--       requirements of each queue that holds something}}.

local function head(k, lane, class, requires, into)
  local key = ff.key.queue(k, ff.name.queue_in(lane, class))
  local score = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if score then
    local at = #into
    into[at + 1], into[at + 2], into[at + 3], into[at + 4] = class, score, call('ZCARD', key), requires
  end
end

local function lane(k, name, most)
  local found = {1}
  head(k, name, '', '', found)
  local ns, lane = ff.name.parts(name)
  local classes = call('HRANDFIELD', ff.key.classes(k, ns, lane), most, 'WITHVALUES')
  for i = 1, #classes, 2 do
    head(k, name, classes[i], classes[i + 1], found)
  end
  if #classes >= 2 * most then
    found[1] = 0
  end
  return found
end

-- The time of the first timer of executions, resources and continuations, or ''.
local function first_timer(k)
  local first = ''
  for _, key in ipairs({k.timer, k.resource_timers, k.continuations}) do
    local time = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if time and (first == '' or tonumber(time) < tonumber(first)) then
      first = time
    end
  end
  return first
end

register('peek', function(keys, args)
  local reply, most = {}, tonumber(args[1])
  for i, route in ipairs(keys) do
    local k = ff.keys(route)
    local found = {route, first_timer(k)}
    for at = 2, #args do
      found[at + 1] = lane(k, args[at], most)
    end
    reply[i] = found
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 1, 1, {1})
