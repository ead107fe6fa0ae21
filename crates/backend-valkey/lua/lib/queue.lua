-- The queues of a partition: one ordered set for each class of a lane. The registry of the
-- partition names every queue that holds something, and for a while some that no longer do.

ff.queue = {}

-- NAMESPACE:LANE, with :CLASS unless that is ''.
function ff.queue.name(ns, lane, class)
  return class == '' and ns .. ':' .. lane or ns .. ':' .. lane .. ':' .. class
end

-- Namespace, lane and class of such a name.
function ff.queue.parts(name)
  return string.match(name, '^([^:]*):([^:]*):?(.*)$')
end

-- The classes of a lane that hold something, but for the one without requirements.
function ff.queue.classes_key(k, ns, lane)
  return k.idx .. 'lane:' .. ns .. ':' .. lane .. ':classes'
end

-- Registers a queue that holds something.
function ff.queue.open(k, name, ns, lane, class, requires)
  if class ~= '' then
    call('HSET', ff.queue.classes_key(k, ns, lane), class, requires)
  end
  call('SADD', k.queues, name)
end

-- Announces the head of a queue. Answers its score as text.
function ff.queue.announce(k, score, ns, lane, class, requires, origin)
  local text = string.format('%.0f', score)
  call('SPUBLISH', k.channel,
    'W' .. origin .. ns .. ':' .. lane .. ':' .. class .. ':' .. text .. ':' .. requires)
  return text
end

-- Puts an execution in its place. A better head than before is registered and announced, and
-- answered as its score; anything else answers false.
function ff.queue.join(k, id, score, ns, lane, class, requires, origin)
  local name = ff.queue.name(ns, lane, class)
  local key = ff.queue_key(k, name)
  call('ZADD', key, score, id)
  if call('ZRANGE', key, 0, 0)[1] ~= id then
    return false
  end
  ff.queue.open(k, name, ns, lane, class, requires)
  return ff.queue.announce(k, score, ns, lane, class, requires, origin)
end

-- The class of a queue that holds nothing any more is not one of its lane.
function ff.queue.close(k, name)
  local ns, lane, class = ff.queue.parts(name)
  if class ~= '' then
    call('HDEL', ff.queue.classes_key(k, ns, lane), class)
  end
end

-- Takes a queue that holds nothing out of the registry. Tells whether it was there.
function ff.queue.forget(k, name)
  if call('EXISTS', ff.queue_key(k, name)) == 1 then
    return false
  end
  ff.queue.close(k, name)
  return call('SREM', k.queues, name) == 1
end

-- Takes an execution out of its queue.
function ff.queue.leave(k, id, r)
  local name = ff.queue.name(r.ns, r.lane, r.class)
  local key = ff.queue_key(k, name)
  call('ZREM', key, id)
  if r.class ~= '' and call('EXISTS', key) == 0 then
    ff.queue.close(k, name)
  end
end

local function by_place(a, b)
  return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end

-- The best candidates of some queues in order: id, score as text and the number of its queue, one
-- after the other. There are limit of each queue at most.
function ff.queue.best(keys, limit)
  local found = {}
  if #keys == 1 then
    local heads = call('ZRANGE', keys[1], 0, limit - 1, 'WITHSCORES')
    for i = 1, #heads, 2 do
      local at = #found
      found[at + 1], found[at + 2], found[at + 3] = heads[i], heads[i + 1], 1
    end
    return found
  end
  local all = {}
  for place, key in ipairs(keys) do
    local heads = call('ZRANGE', key, 0, limit - 1, 'WITHSCORES')
    for i = 1, #heads, 2 do
      all[#all + 1] = {tonumber(heads[i + 1]), heads[i], heads[i + 1], place}
    end
  end
  table.sort(all, by_place)
  for i, one in ipairs(all) do
    found[3 * i - 2], found[3 * i - 1], found[3 * i] = one[2], one[3], one[4]
  end
  return found
end
