-- What time has to do in partitions.
--
-- keys: routing keys. args: time and id after which to begin (0 and '' for the start), how many of
--       each partition at most.
-- reply: {now, for each {time of the first timer that is not due or '', the resources whose timers
--       are due, then time and id of each execution whose timer is, and 1 if it is finished (else 0)}}.

-- Whether the record of id says that it is finished, whatever is in its place.
local function is_finished(k, id)
  local at = C.STATE_AT - 1
  local read, byte = pcall(call, 'GETRANGE', ff.key.record(k, id), at, at)
  return read and string.byte(byte) == C.STATE_FINISHED
end

local function due(k, now, after, after_id, limit)
  local earliest = call('ZRANGE', k.timer, 0, 0, 'WITHSCORES')[2]
  local some = earliest and tonumber(earliest) <= now
  if some then
    earliest = call('ZRANGEBYSCORE', k.timer, '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)[2]
  end
  local first = call('ZRANGE', k.resource_timers, 0, 0, 'WITHSCORES')[2]
  local resources = {}
  if first and tonumber(first) <= now then
    resources = call('ZRANGEBYSCORE', k.resource_timers, '-inf', now, 'LIMIT', 0, limit)
    first = call('ZRANGEBYSCORE', k.resource_timers, '(' .. string.format('%.0f', now), '+inf',
      'WITHSCORES', 'LIMIT', 0, 1)[2]
  end
  local soonest = earliest or ''
  if first and (soonest == '' or tonumber(first) < tonumber(soonest)) then
    soonest = first
  end
  local found = {soonest, resources}
  if not some then
    return found
  end
  local from = after_id == '' and 0 or ff.rank(k.timer, after, after_id)
  local page = call('ZRANGE', k.timer, from, from + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    if tonumber(page[i + 1]) > now then
      break
    end
    found[#found + 1] = page[i + 1]
    found[#found + 1] = page[i]
    found[#found + 1] = is_finished(k, page[i]) and 1 or 0
  end
  return found
end

register('due', function(keys, args)
  local now = now()
  local reply = {now}
  for _, route in ipairs(keys) do
    local after, limit = tonumber(args[1]), tonumber(args[3])
    reply[#reply + 1] = due(ff.keys(route), now, after, args[2], limit)
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 3, nil, {1, 3})
