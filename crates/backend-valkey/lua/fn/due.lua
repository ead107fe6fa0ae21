-- Due timers of partitions.
--
-- keys: routing keys. args: time and id of the execution, time and name of the resource, and time and
--       member of the continuation after which to begin (0 and '' for the start), how many of each
--       partition at most.
-- reply: {now, for each {routing key, time of the first timer that is not due or '', time and name of each
--       resource whose timer is due, time and member of each continuation that is, then time and id of
--       each execution whose timer is, and 1 if it is finished (else 0)}}.

-- Whether the record of id is finished; false for a key of another type.
local function is_finished(k, id)
  local at = C.STATE_AT - 1
  local read, byte = pcall(call, 'GETRANGE', ff.key.record(k, id), at, at)
  return read and string.byte(byte) == C.STATE_FINISHED
end

-- Adds time and member of each due timer, after a place, at most limit, and what more(member)
-- answers if it is given.
local function add(found, key, now, after, after_member, limit, more)
  local from = after_member == '' and 0 or ff.rank(key, after, after_member)
  local page = call('ZRANGE', key, from, from + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    if tonumber(page[i + 1]) > now then
      break
    end
    found[#found + 1] = page[i + 1]
    found[#found + 1] = page[i]
    if more then
      found[#found + 1] = more(page[i])
    end
  end
  return found
end

-- The due timers of one index, and the time of the first that is not due.
local function timers(key, now, after, limit, found, more)
  local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if first and tonumber(first) <= now then
    add(found, key, now, after.time, after.member, limit, more)
    first = call('ZRANGEBYSCORE', key, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)[2]
  end
  return found, first
end

local function soonest(times)
  local first = ''
  for i = 1, 3 do
    local time = times[i]
    if time and (first == '' or tonumber(time) < tonumber(first)) then
      first = time
    end
  end
  return first
end

local function due(route, now, after, limit)
  local k = ff.keys(route)
  local found, first, second, third = {route, '', false, false}, nil, nil, nil
  found[3], second = timers(k.resource_timers, now, after.resource, limit, {})
  found[4], third = timers(k.continuations, now, after.continuation, limit, {})
  found, first = timers(k.timer, now, after.execution, limit, found, function(id)
    return is_finished(k, id) and 1 or 0
  end)
  found[2] = soonest({first, second, third})
  return found
end

register('due', function(keys, args)
  local now = now()
  local after = {
    execution = {time = tonumber(args[1]), member = args[2]},
    resource = {time = tonumber(args[3]), member = args[4]},
    continuation = {time = tonumber(args[5]), member = args[6]},
  }
  local reply = {now}
  for _, route in ipairs(keys) do
    reply[#reply + 1] = due(route, now, after, tonumber(args[7]))
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 7, nil, {1, 3, 5, 7})
