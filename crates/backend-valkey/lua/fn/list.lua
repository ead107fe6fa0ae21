-- A range of a listing of partitions, newest first.
--
-- keys: routing keys. args: namespace, the number of a reason for attention or 0 for every execution,
--       time and id after which to begin ('' for the start), how many of each partition at most.
-- reply: for each partition times and ids, one after the other.

local function stretch(key, created, after_id, limit, into)
  local last = created == '' and -1 or ff.rank(key, tonumber(created), after_id, true) - 1
  if created ~= '' and last < 0 then
    return
  end
  local first = last < 0 and -limit or math.max(0, last - limit + 1)
  local page = call('ZRANGE', key, first, last, 'WITHSCORES')
  for i = #page - 1, 1, -2 do
    into[#into + 1] = page[i + 1]
    into[#into + 1] = page[i]
  end
end

register('list', function(keys, args)
  local ns, reason, created, after_id, limit = unpack(args)
  local key, name = ff.key.list, ns
  if tonumber(reason) ~= C.ATTENTION_NONE then
    key, name = ff.key.attention, ff.name.attention(ns, tonumber(reason))
  end
  local reply = {}
  for i, route in ipairs(keys) do
    reply[i] = {}
    stretch(key(ff.keys(route), name), created, after_id, tonumber(limit), reply[i])
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 5, nil, {2, 5})
