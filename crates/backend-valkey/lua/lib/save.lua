-- Writing a record with its index entries. The order is: the entries that lead to a new record, what
-- is beside it, the record, its other entries, removal of old ones. The record is what counts: a
-- fault before it is written has changed nothing, a fault after it leaves the rest to be done. Such
-- a fault leaves one of three things, which mend finds from the indexes alone: an entry of no
-- record, a record without one of its entries, an entry or payload that its record disowns.

ff.save = {}

-- The entry of what holds an execution.
local function request(holder, id)
  return string.sub(holder, 1, 16) .. id
end

local function attention_key(k, ns)
  return k.idx .. 'attention:' .. ns .. ':failed'
end

local function keys_key(k, ns)
  return k.idx .. 'keys:' .. ns
end

ff.save.keys_key, ff.save.attention_key, ff.save.request = keys_key, attention_key, request

-- The execution that an idempotency key names, false if there is none or its record is gone.
function ff.save.owner(k, ns, key)
  local id = call('HGET', keys_key(k, ns), key)
  return id and call('EXISTS', k.exec .. id) == 1 and id
end

-- Sets the timer of an execution. One that is due within a second and comes first is announced.
function ff.save.arm(k, id, due, now)
  call('ZADD', k.timer, due, id)
  if due - now <= 1000 and call('ZRANGE', k.timer, 0, 0)[1] == id then
    call('SPUBLISH', k.channel, string.format('T%.0f', due))
  end
end

-- Writes a new record and everything but its place in the queue; own_input is its input if that has
-- a key of its own. Answers false, with nothing written, if the id is taken. The idempotency key
-- comes before the record: no fault lets another submit with that key make a second execution.
function ff.save.create(k, id, bytes, ns, created, key, timer, now, own_input)
  local exec = k.exec .. id
  if (own_input or key ~= '') and call('EXISTS', exec) == 1 then
    return false
  end
  call('SADD', k.namespaces, ns)
  local list = ff.list_key(k, ns)
  local listed = call('ZADD', list, 'NX', created, id)
  if key ~= '' then
    call('HSET', keys_key(k, ns), key, id)
  end
  if own_input then
    call('SET', exec .. ':in', own_input)
  end
  if not call('SET', exec, bytes, 'NX') then
    -- The record is another namespace's, or was there already.
    if listed == 1 then
      call('ZREM', list, id)
      if call('EXISTS', list) == 0 then
        call('SREM', k.namespaces, ns)
      end
    end
    return false
  end
  if listed == 0 then
    -- A fault has left the entry of an earlier try.
    call('ZADD', list, created, id)
  end
  if timer ~= 0 then
    ff.save.arm(k, id, timer, now)
  end
  return true
end

-- A changed record; was is the record before. Answers the score of a head that it became.
function ff.save.update(k, id, was, r, now, origin)
  call('SET', k.exec .. id, ff.record.pack(r))
  if r.timer ~= 0 and r.timer ~= was.timer then
    ff.save.arm(k, id, r.timer, now)
  end
  if r.holder ~= '' and r.holder ~= was.holder then
    call('ZADD', k.requests, 0, request(r.holder, id))
  end
  if r.attention ~= 0 and was.attention == 0 then
    call('ZADD', attention_key(k, r.ns), r.created, id)
  end
  if r.blocked ~= '' or was.blocked ~= '' then
    ff.blocked.moved(k, id, was, r)
  end
  local head = false
  if r.score ~= C.NO_SCORE and r.score ~= was.score then
    head = ff.queue.join(k, id, r.score, r.ns, r.lane, r.class, r.requires, origin)
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

-- The names of a record and of all that can be beside it, whether or not it is there.
function ff.save.names(k, id, runs)
  local exec = k.exec .. id
  local names = {exec, exec .. ':in', exec .. ':att'}
  for run = 0, math.min(runs, C.RUNS) do
    names[#names + 1] = exec .. ':out:' .. run
  end
  return unpack(names)
end

-- Removes the record of a finished execution and all that names it. Its timer goes last: until then
-- it leads back here.
function ff.save.remove(k, id, ns, attention, key, run)
  call('ZREM', ff.list_key(k, ns), id)
  if attention ~= 0 then
    call('ZREM', attention_key(k, ns), id)
  end
  if key ~= '' and call('HGET', keys_key(k, ns), key) == id then
    call('HDEL', keys_key(k, ns), key)
  end
  call('DEL', ff.save.names(k, id, run))
  call('ZREM', k.timer, id)
end

-- After a removal: forgets a namespace and a queue that hold nothing any more.
function ff.save.close(k, ns, lane, class)
  if call('EXISTS', ff.list_key(k, ns)) == 0 then
    call('SREM', k.namespaces, ns)
  end
  ff.queue.forget(k, ff.queue.name(ns, lane, class))
end
