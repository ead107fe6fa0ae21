-- Writing a record with its index entries. The order is: list entry, record, new entries, removal
-- of old ones. A fault in between leaves one of three things, which mend finds from the indexes
-- alone: an entry of no record, a record without one of its entries, an entry its record disowns.

ff.save = {}

local function request(holder, id)
  return string.sub(holder, 1, 16) .. id
end

local function attention_key(k, ns)
  return k.idx .. 'attention:' .. ns .. ':failed'
end

local function keys_key(k, ns)
  return k.idx .. 'keys:' .. ns
end

ff.save.keys_key, ff.save.attention_key = keys_key, attention_key

-- A timer that is due within a second and comes first is announced.
local function arm(k, id, due, now)
  call('ZADD', k.timer, due, id)
  if due - now <= 1000 and call('ZRANGE', k.timer, 0, 0)[1] == id then
    call('SPUBLISH', k.channel, string.format('T%.0f', due))
  end
end

-- How long a namespace that was registered is taken to be so, in ms.
local SEEN = 60000

local function register_namespace(k, ns, now)
  if now - (k.seen[ns] or -SEEN) >= SEEN then
    call('SADD', k.namespaces, ns)
    k.seen[ns] = now
  end
end

-- A new record. Answers the score of a head that it became, and nil if the id is taken.
function ff.save.create(k, id, r, now, origin)
  register_namespace(k, r.ns, now)
  local list = ff.list_key(k, r.ns)
  local listed = call('ZADD', list, 'NX', r.created, id)
  if not call('SET', k.exec .. id, ff.record.pack(r), 'NX') then
    -- The record is another namespace's, or was there already.
    if listed == 1 then
      call('ZREM', list, id)
    end
    return nil
  end
  if r.key ~= '' then
    call('HSET', keys_key(k, r.ns), r.key, id)
  end
  if r.timer ~= 0 then
    arm(k, id, r.timer, now)
  end
  return r.score ~= C.NO_SCORE and ff.queue.join(k, id, r, origin)
end

-- A record that was claimed, whose timer was another. Answers its bytes; its place in the queue is
-- left to the caller.
function ff.save.hold(k, id, r, timer, now)
  local bytes = ff.record.pack(r)
  call('SET', k.exec .. id, bytes)
  if r.timer ~= timer then
    arm(k, id, r.timer, now)
  end
  call('ZADD', k.requests, 0, request(r.holder, id))
  return bytes
end

-- A changed record; was is the record before, or the score, timer, holder and attention it had.
-- Answers the score of a head that it became.
function ff.save.update(k, id, was, r, now, origin)
  call('SET', k.exec .. id, ff.record.pack(r))
  if r.timer ~= 0 and r.timer ~= was.timer then
    arm(k, id, r.timer, now)
  end
  if r.holder ~= '' and r.holder ~= was.holder then
    call('ZADD', k.requests, 0, request(r.holder, id))
  end
  if r.attention ~= 0 and was.attention == 0 then
    call('ZADD', attention_key(k, r.ns), r.created, id)
  end
  local head = false
  if r.score ~= C.NO_SCORE and r.score ~= was.score then
    head = ff.queue.join(k, id, r, origin)
  end
  if was.score ~= C.NO_SCORE and r.score == C.NO_SCORE then
    ff.queue.leave(k, id, r)
  end
  if was.timer ~= 0 and r.timer == 0 then
    call('ZREM', k.timer, id)
  end
  if was.holder ~= '' and string.sub(was.holder, 1, 16) ~= string.sub(r.holder, 1, 16) then
    call('ZREM', k.requests, request(was.holder, id))
  end
  if was.attention ~= 0 and r.attention == 0 then
    call('ZREM', attention_key(k, r.ns), id)
  end
  return head
end

-- Removes a record and all that names it. Its timer goes last: until then it leads back here.
function ff.save.remove(k, id, r)
  local list = ff.list_key(k, r.ns)
  call('ZREM', list, id)
  if call('EXISTS', list) == 0 then
    call('SREM', k.namespaces, r.ns)
    k.seen[r.ns] = nil
  end
  if r.score ~= C.NO_SCORE then
    ff.queue.leave(k, id, r)
  end
  if r.holder ~= '' then
    call('ZREM', k.requests, request(r.holder, id))
  end
  if r.attention ~= 0 then
    call('ZREM', attention_key(k, r.ns), id)
  end
  if r.key ~= '' and call('HGET', keys_key(k, r.ns), r.key) == id then
    call('HDEL', keys_key(k, r.ns), r.key)
  end
  local exec = k.exec .. id
  if r.input_at == C.OWN_KEY then
    call('DEL', exec .. ':in')
  end
  if r.run > 0 or r.result_at == C.OWN_KEY then
    for run = 0, r.run do
      call('DEL', exec .. ':out:' .. run)
    end
  end
  if r.attempts > 1 then
    call('DEL', exec .. ':att')
  end
  call('DEL', exec)
  call('ZREM', k.timer, id)
end

-- What update must know of a record before it is changed.
function ff.save.was(r)
  return {score = r.score, timer = r.timer, holder = r.holder, attention = r.attention}
end
