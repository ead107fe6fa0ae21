-- The entries and payloads of a record as they should be, whatever there is.

-- In the place of a calling process, which would not listen to itself: all shall hear.
local NOBODY = '--------'

-- Puts a queued execution into its queue; answers how much was missing.
local function queue(k, id, r, name)
  local missing = call('ZADD', ff.queue_key(k, name), 'CH', r.score, id)
  if r.class ~= '' then
    local classes = ff.queue.classes_key(k, r.ns, r.lane)
    missing = missing + call('HSETNX', classes, r.class, r.requires)
  end
  missing = missing + call('SADD', k.queues, name)
  if missing > 0 then
    ff.queue.join(k, id, r.score, r.ns, r.lane, r.class, r.requires, NOBODY)
  end
  return missing
end

-- Puts back what the record of id lacks and takes away what it disowns. Answers how much was missing
-- and how much was too much.
ff.place = function(k, id, r)
  local missing, extra = 0, 0
  local function put(count)
    missing = missing + count
  end
  local function take(count)
    extra = extra + count
  end
  put(call('SADD', k.namespaces, r.ns))
  put(call('ZADD', ff.list_key(k, r.ns), 'CH', r.created, id))
  if r.key ~= '' and not ff.save.owner(k, r.ns, r.key) then
    call('HSET', ff.save.keys_key(k, r.ns), r.key, id)
    put(1)
  end
  if r.holder ~= '' then
    put(call('ZADD', k.requests, 'CH', 0, ff.save.request(r.holder, id)))
  end
  if r.timer ~= 0 then
    put(call('ZADD', k.timer, 'CH', r.timer, id))
  else
    take(call('ZREM', k.timer, id))
  end
  local attention = ff.save.attention_key(k, r.ns)
  if r.attention ~= 0 then
    put(call('ZADD', attention, 'CH', r.created, id))
  else
    take(call('ZREM', attention, id))
  end
  if r.blocked ~= '' then
    put(ff.blocked.join(k, id, r))
  end
  local name = ff.queue.name(r.ns, r.lane, r.class)
  if r.score == C.NO_SCORE then
    take(call('ZREM', ff.queue_key(k, name), id))
  else
    put(queue(k, id, r, name))
  end
  local exec = k.exec .. id
  if r.input_at ~= C.OWN_KEY then
    take(call('DEL', exec .. ':in'))
  end
  if r.result_at ~= C.OWN_KEY then
    take(call('DEL', exec .. ':out:' .. r.run))
  end
  if r.attempts > 0 then
    take(call('HDEL', exec .. ':att', r.attempts - 1))
  end
  return missing, extra
end
