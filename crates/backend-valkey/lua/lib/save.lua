-- Writing a record with its index entries. The order is: the entries that lead to a new record, what
-- is stored next to it, the record, its other entries, removal of old ones. The record is what counts: a
-- fault before it is written has changed nothing, a fault after it leaves the rest to be done. Such
-- a fault leaves one of three states, which repair finds from the indexes alone: an entry without a
-- record, a record without one of its entries, an entry or payload that does not belong to its record.

ff.save = {}

-- The execution that an idempotency key names, false if there is none or its record is gone.
function ff.save.owner(k, ns, key)
  local id = call('HGET', ff.key.idempotency(k, ns), key)
  return id and call('EXISTS', ff.key.record(k, id)) == 1 and id
end

-- Announces that executions have ended or are gone, all at once.
function ff.save.ended(k, ids)
  if ids[1] then
    call('SPUBLISH', k.ended, table.concat(ids))
  end
end

-- Writes a new record and the entries that lead to it; own_input is its input if that has a separate
-- key, elements what is to be stored next to it and counted what is counted for it, if there is any. Answers false, with nothing written, if
-- the id is taken. The idempotency key is written before the record: no fault lets another submit with
-- that key create a second execution. registered, if given, has the namespaces that the call has
-- registered.
function ff.save.create(k, id, bytes, ns, created, key, own_input, elements, registered, counted)
  local record = ff.key.record(k, id)
  if (own_input or key ~= '') and call('EXISTS', record) == 1 then
    return false
  end
  if not (registered and registered[ns]) then
    call('SADD', k.namespaces, ns)
  end
  local list = ff.key.list(k, ns)
  local listed = call('ZADD', list, 'NX', created, id)
  if key ~= '' then
    call('HSET', ff.key.idempotency(k, ns), key, id)
  end
  if own_input then
    call('SET', ff.key.input(record), own_input)
  end
  if elements then
    ff.elements.write(record, elements)
  end
  if counted then
    ff.continuations.begin(record, counted)
  end
  if not call('SET', record, bytes, 'NX') then
    -- The record belongs to another namespace, or existed before.
    if listed == 1 then
      call('ZREM', list, id)
      if call('EXISTS', list) == 0 then
        call('SREM', k.namespaces, ns)
      end
    end
    return false
  end
  if registered then
    registered[ns] = true
  end
  if listed == 0 then
    -- A fault has left the entry of an earlier try.
    call('ZADD', list, created, id)
  end
  return true
end

-- The other entries of a new record. Answers the score of a head that it became.
function ff.save.enter(k, id, r, now, origin)
  local head = false
  for _, index in ipairs(ff.placement) do
    if not index.leads and index.entry(r, id) then
      head = ff.join(index, k, id, r, now, origin) or head
    end
  end
  return head
end

-- A changed record; was is the record before. Answers the score of a head that it became.
function ff.save.update(k, id, was, r, now, origin)
  call('SET', ff.key.record(k, id), ff.record.pack(r))
  local head, left = false, {}
  for _, index in ipairs(ff.placement) do
    local member, value = index.entry(r, id)
    local old_member, old_value = index.entry(was, id)
    local moved = member ~= old_member or member and index.of(r) ~= index.of(was)
    if member and (moved or value ~= old_value) then
      head = ff.join(index, k, id, r, now, origin) or head
    end
    if old_member and moved then
      left[#left + 1] = index
    end
  end
  for _, index in ipairs(left) do
    ff.leave(index, k, id, was)
  end
  return head
end

-- The keys of a record and of everything that can be next to it, whether or not it exists.
function ff.save.names(k, id, runs)
  local record = ff.key.record(k, id)
  local names = ff.elements.keys(record)
  names[#names + 1], names[#names + 2], names[#names + 3] = record, ff.key.input(record), ff.key.tally(record)
  for run = 0, math.min(runs, C.RUNS) do
    names[#names + 1] = ff.key.result(record, run)
  end
  return unpack(names)
end

-- Removes the record of a finished execution and everything that names it: of the indexes, a finished one
-- is in its list, its timer, and among those that need attention or have a key. Its timer is removed last: until
-- then it leads back here.
function ff.save.remove(k, id, ns, attention, key, run)
  call('ZREM', ff.key.list(k, ns), id)
  if attention ~= C.ATTENTION_NONE then
    call('ZREM', ff.key.attention(k, ff.name.attention(ns, attention)), id)
  end
  if key ~= '' then
    ff.save.disown(k, id, ns, key)
  end
  call('UNLINK', ff.save.names(k, id, run))
  call('ZREM', k.timer, id)
end

-- Removes an idempotency key from an execution, unless it names another.
function ff.save.disown(k, id, ns, key)
  local keys = ff.key.idempotency(k, ns)
  if call('HGET', keys, key) == id then
    call('HDEL', keys, key)
  end
end

-- After a removal: removes a namespace and a queue that are empty from their registries.
function ff.save.close(k, ns, lane, class)
  if call('EXISTS', ff.key.list(k, ns)) == 0 then
    call('SREM', k.namespaces, ns)
  end
  ff.queue.forget(k, ff.name.queue(ns, lane, class))
end
