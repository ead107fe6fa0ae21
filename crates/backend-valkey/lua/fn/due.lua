-- Due timers of partitions.
--
-- keys: routing keys. args: time and id of the execution and time and name of the resource after
--       which to begin (0 and '' for the start), how many of each partition at most.
-- reply: {now, for each {routing key, time of the first timer that is not due or '', time and name of each
--       resource whose timer is due, then time and id of each execution whose timer is, and 1 if it
--       is finished (else 0)}}.

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

local function due(route, now, after, limit)
  local k = ff.keys(route)
  local earliest = call('ZRANGE', k.timer, 0, 0, 'WITHSCORES')[2]
  local some = earliest and tonumber(earliest) <= now
  if some then
    earliest = call('ZRANGEBYSCORE', k.timer, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)[2]
  end
  local first = call('ZRANGE', k.resource_timers, 0, 0, 'WITHSCORES')[2]
  local resources = {}
  if first and tonumber(first) <= now then
    add(resources, k.resource_timers, now, after.resource_time, after.resource, limit)
    first = call('ZRANGEBYSCORE', k.resource_timers, '(' .. string.format('%.0f', now), '+inf',
      'WITHSCORES', 'LIMIT', 0, 1)[2]
  end
  local soonest = earliest or ''
  if first and (soonest == '' or tonumber(first) < tonumber(soonest)) then
    soonest = first
  end
  local found = {route, soonest, resources}
  if some then
    add(found, k.timer, now, after.time, after.id, limit, function(id)
      return is_finished(k, id) and 1 or 0
    end)
  end
  return found
end

register('due', function(keys, args)
  local now = now()
  local after = {
    time = tonumber(args[1]), id = args[2],
    resource_time = tonumber(args[3]), resource = args[4],
  }
  local reply = {now}
  for _, route in ipairs(keys) do
    reply[#reply + 1] = due(route, now, after, tonumber(args[5]))
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 5, nil, {1, 3, 5})
