-- The queues of a partition: one sorted set for each class of a lane. The registry of the
-- partition names every queue that is not empty, and for a while some that are.

ff.queue = {}

-- In place of a calling process, which ignores its own announcements: all processes read it.
local NOBODY = '--------'

-- Registers a queue that is not empty.
function ff.queue.open(k, name, ns, lane, class, requires)
  if class ~= '' then
    call('HSET', ff.key.classes(k, ns, lane), class, requires)
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

-- Adds an execution in its place. A better head than before is registered and announced, and
-- answered as its score; anything else answers false. heads, if given, has scores that the heads of
-- queues are known not to exceed.
function ff.queue.join(k, id, score, ns, lane, class, requires, origin, heads)
  local name = ff.name.queue(ns, lane, class)
  local key = ff.key.queue(k, name)
  call('ZADD', key, score, id)
  if heads and (heads[key] or math.huge) <= score then
    return false
  end
  if heads then
    heads[key] = score
  end
  if call('ZRANGE', key, 0, 0)[1] ~= id then
    return false
  end
  ff.queue.open(k, name, ns, lane, class, requires)
  return ff.queue.announce(k, score, ns, lane, class, requires, origin)
end

-- Makes a queued execution's place in its queue what it should be; answers how much was missing.
function ff.queue.put(k, id, r)
  local name = ff.name.queue(r.ns, r.lane, r.class)
  local missing = call('ZADD', ff.key.queue(k, name), 'CH', r.score, id)
  if r.class ~= '' then
    missing = missing + call('HSETNX', ff.key.classes(k, r.ns, r.lane), r.class, r.requires)
  end
  missing = missing + call('SADD', k.queues, name)
  if missing > 0 then
    ff.queue.join(k, id, r.score, r.ns, r.lane, r.class, r.requires, NOBODY)
  end
  return missing
end

-- The class of an empty queue is not one of its lane.
function ff.queue.close(k, name)
  local ns, lane, class = ff.name.parts(name)
  if class ~= '' then
    call('HDEL', ff.key.classes(k, ns, lane), class)
  end
end

-- Removes an empty queue from the registry. Answers whether it was registered.
function ff.queue.forget(k, name)
  if call('EXISTS', ff.key.queue(k, name)) == 1 then
    return false
  end
  ff.queue.close(k, name)
  return call('SREM', k.queues, name) == 1
end

-- Removes an execution from its queue.
function ff.queue.leave(k, id, r)
  local name = ff.name.queue(r.ns, r.lane, r.class)
  local key = ff.key.queue(k, name)
  call('ZREM', key, id)
  if r.class ~= '' and call('EXISTS', key) == 0 then
    ff.queue.close(k, name)
  end
end

-- Whether one entry of a heap, {score, id, ...}, comes before another.
local function comes_first(a, b)
  return a[1] < b[1] or (a[1] == b[1] and ff.less(a[2], b[2]))
end

-- Moves the entry at a place of a heap down to where it belongs.
local function sift(heap, at)
  while true do
    local least = at
    for child = 2 * at, 2 * at + 1 do
      if heap[child] and comes_first(heap[child], heap[least]) then
        least = child
      end
    end
    if least == at then
      return
    end
    heap[at], heap[least] = heap[least], heap[at]
    at = least
  end
end

-- The next entry of a queue of which some were read; nil after the last. An entry is {score, id,
-- score as text, number of the queue, what was read, where in that, how many precede}.
local function following(keys, entry, size)
  local place, page, at, offset = entry[4], entry[5], entry[6] + 2, entry[7]
  if at > #page then
    if #page < 2 * size then
      return nil
    end
    page, at, offset = call('ZRANGE', keys[place], offset + size, offset + 2 * size - 1, 'WITHSCORES'),
      1, offset + size
    if #page == 0 then
      return nil
    end
  end
  return {tonumber(page[at + 1]), page[at], page[at + 1], place, page, at, offset}
end

-- The best candidates of some queues in order: id, score as text and the number of its queue, one
-- after the other. There are limit at most, and no more than twice as many and two of each queue are
-- read. Of a single queue they are its first.
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
  local heap, size = {}, math.max(1, math.ceil(limit / #keys))
  for place, key in ipairs(keys) do
    local page = call('ZRANGE', key, 0, size - 1, 'WITHSCORES')
    if page[1] then
      heap[#heap + 1] = {tonumber(page[2]), page[1], page[2], place, page, 1, 0}
    end
  end
  for at = math.floor(#heap / 2), 1, -1 do
    sift(heap, at)
  end
  local left = #heap
  while left > 0 and #found < 3 * limit do
    local entry, at = heap[1], #found
    found[at + 1], found[at + 2], found[at + 3] = entry[2], entry[3], entry[4]
    local next = following(keys, entry, size)
    if not next then
      next, heap[left] = heap[left], nil
      left = left - 1
    end
    if left > 0 then
      heap[1] = next
      sift(heap, 1)
    end
  end
  return found
end
