-- The queues of a partition: one ordered set for each class of a lane, known to the registry of the
-- partition while it holds something.

ff.queue = {}

local function lane_key(k, ns, lane)
  return k.idx .. 'lane:' .. ns .. ':' .. lane
end

function ff.queue.key(k, ns, lane, class)
  local plain = lane_key(k, ns, lane) .. ':eligible'
  return class == '' and plain or plain .. ':' .. class
end

-- The classes of a lane that hold something, but for the one without requirements.
function ff.queue.classes_key(k, ns, lane)
  return lane_key(k, ns, lane) .. ':classes'
end

local function name(ns, lane, class)
  return class == '' and ns .. ':' .. lane or ns .. ':' .. lane .. ':' .. class
end

-- Puts an execution in the place its record says. A better head than before is registered and
-- announced, and answered as its score; anything else answers false.
function ff.queue.join(k, id, r, origin)
  local key = ff.queue.key(k, r.ns, r.lane, r.class)
  call('ZADD', key, r.score, id)
  if call('ZRANGE', key, 0, 0)[1] ~= id then
    return false
  end
  call('SADD', k.queues, name(r.ns, r.lane, r.class))
  if r.class ~= '' then
    call('HSET', ff.queue.classes_key(k, r.ns, r.lane), r.class, r.requires)
  end
  call('SPUBLISH', k.channel, string.format('W%s%s:%s:%s:%.0f:%s',
    origin, r.ns, r.lane, r.class, r.score, r.requires))
  return string.format('%.0f', r.score)
end

-- Forgets a queue that holds nothing any more.
function ff.queue.close(k, ns, lane, class)
  call('SREM', k.queues, name(ns, lane, class))
  if class ~= '' then
    call('HDEL', ff.queue.classes_key(k, ns, lane), class)
  end
end

-- Takes an execution out of its queue.
function ff.queue.leave(k, id, r)
  local key = ff.queue.key(k, r.ns, r.lane, r.class)
  call('ZREM', key, id)
  if call('EXISTS', key) == 0 then
    ff.queue.close(k, r.ns, r.lane, r.class)
  end
end

-- The best candidates of some classes of a lane, at most limit, as {score, id, key}.
function ff.queue.best(k, ns, lane, classes, limit)
  local found = {}
  for _, class in ipairs(classes) do
    local key = ff.queue.key(k, ns, lane, class)
    local heads = call('ZRANGE', key, 0, limit - 1, 'WITHSCORES')
    for i = 1, #heads, 2 do
      found[#found + 1] = {tonumber(heads[i + 1]), heads[i], key}
    end
  end
  if #classes > 1 then
    table.sort(found, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
    end)
    for i = #found, limit + 1, -1 do
      found[i] = nil
    end
  end
  return found
end
