-- Removes the oldest events of a namespace: those before a time, and those that are too many.
--
-- keys: routing keys. args: namespace, the time, how many each partition keeps at most.
-- reply: for each partition 1 if there may be more to remove, else 0.

-- The last one is removed by name, which the stream remembers: a reader that has not seen it is told so.
local function trim(log, before, most)
  local over, last = call('XLEN', log) - most, nil
  local entries = call('XRANGE', log, '-', '+', 'COUNT', C.TRIMMED_EVENTS)
  for i, entry in ipairs(entries) do
    local whole, $event = pcall(struct.unpack, '>$EVENT', entry[2][2])
    if i > over and whole and at >= before then
      break
    end
    last = entry[1]
  end
  if not last then
    return 0
  end
  call('XDEL', log, last)
  call('XTRIM', log, 'MINID', last)
  return #entries == C.TRIMMED_EVENTS and last == entries[#entries][1] and 1 or 0
end

register('trim_events', function(keys, args)
  local reply = {}
  for i, route in ipairs(keys) do
    local log = ff.key.events(ff.keys(route), args[1])
    reply[i] = trim(log, tonumber(args[2]), tonumber(args[3]))
  end
  return reply
end, {'allow-oom', 'allow-cross-slot-keys'}, 3, nil, {2, 3})
