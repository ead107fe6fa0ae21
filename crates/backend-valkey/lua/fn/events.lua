-- Events of a namespace after some places.
--
-- keys: routing keys. args: namespace, how many of each partition at most, and the places: for each
--       partition that has one its number and the id of an entry, with spaces between.
-- reply: for each partition {routing key, the id of its last entry ever, that of the last one removed by
--       name, then id and bytes of each event}.

-- The ids of the last entry and of the last one that was removed.
local function ends(log)
  if call('EXISTS', log) == 0 then
    return '0-0', '0-0'
  end
  local info, last, removed = call('XINFO', 'STREAM', log), '0-0', '0-0'
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      last = info[i + 1]
    elseif info[i] == 'max-deleted-entry-id' then
      removed = info[i + 1]
    end
  end
  return last, removed
end

register('events', function(keys, args)
  local ns, limit, after, reply = args[1], tonumber(args[2]), {}, {}
  for partition, id in string.gmatch(args[3], '(%d+) (%d+%-%d+)') do
    after[partition] = id
  end
  for i, route in ipairs(keys) do
    local log = ff.key.events(ff.keys(route), ns)
    local found = {route, ends(log)}
    if limit > 0 then
      local from = after[string.match(route, '(%d+)}$')] or '0-0'
      for _, entry in ipairs(call('XRANGE', log, '(' .. from, '+', 'COUNT', limit)) do
        found[#found + 1], found[#found + 2] = entry[1], entry[2][2]
      end
    end
    reply[i] = found
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 3, nil, {2})
