-- A stretch of a listing of partitions, newest first.
--
-- keys: routing keys. args: namespace, 'list' or 'attention', time and id after which to begin
--       ('' for the start), how many of each partition at most.
-- reply: times and ids, one after the other.

local function stretch(key, created, after_id, limit, into)
  local from = created == '' and '+inf' or created
  local offset, found = 0, 0
  while found < limit do
    local page = call('ZREVRANGEBYSCORE', key, from, '-inf', 'WITHSCORES', 'LIMIT', offset, limit)
    for i = 1, #page, 2 do
      local behind = created == '' or tonumber(page[i + 1]) < tonumber(created)
        or page[i] < after_id
      if behind and found < limit then
        into[#into + 1] = page[i + 1]
        into[#into + 1] = page[i]
        found = found + 1
      end
    end
    if #page < 2 * limit then
      break
    end
    offset = offset + limit
  end
end

register('list', function(keys, args)
  local ns, which, created, after_id, limit = unpack(args)
  local key = which == 'list' and ff.list_key or ff.save.attention_key
  local reply = {}
  for _, route in ipairs(keys) do
    stretch(key(ff.keys(route), ns), created, after_id, tonumber(limit), reply)
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 5, nil, {5})
