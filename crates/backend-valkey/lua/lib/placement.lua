-- The indexes of a partition, in one table: which there are, and which entry a record has in each.
-- Saving, repairing and dumping use it. The functions of the plain case, and the removal of finished
-- executions, write the entries that their case changes directly, because a record in a table costs
-- too much there; audits compare what they write with what a record has.
--
--   letter   names the index; its subject follows it, such as a namespace
--   kind     ordered: a sorted set of executions; hashed: a hash of them; classes; resources;
--            continuations
--   key      its key, of a partition and of its subject
--   of       which index of this letter a record belongs to; nil where only an entry knows
--   entry    the member and the score (or field and value) of a record there, nil if it has none
-- and where more is to do:
--   id       the execution that an entry names, if it is not the member
--   leads    the entry is written before a new record, because it leads to it
--   join     adds the entry; answers the score of a head that the execution became
--   leave    removes the entry
--   put      adds what is missing of it; answers how much was
--   close    removes what is empty

local function of_namespace(r)
  return r.ns
end

local function of_partition()
  return ''
end

local function of_queue(r)
  return ff.name.queue(r.ns, r.lane, r.class)
end

ff.indexes = {
  -- Every execution of a namespace.
  {letter = 'l', kind = 'ordered', key = ff.key.list, of = of_namespace, leads = true,
    entry = function(r, id)
      return id, r.created
    end,
    put = function(k, id, r)
      return call('SADD', k.namespaces, r.ns) + call('ZADD', ff.key.list(k, r.ns), 'CH', r.created, id)
    end},
  -- Executions that need attention, by the reason.
  {letter = 'a', kind = 'ordered', key = ff.key.attention,
    of = function(r)
      return ff.name.attention(r.ns, r.attention)
    end,
    entry = function(r, id)
      if r.attention ~= C.ATTENTION_NONE then
        return id, r.created
      end
    end},
  -- Executions with an idempotency key.
  {letter = 'k', kind = 'hashed', key = ff.key.idempotency, of = of_namespace, leads = true,
    entry = function(r, id)
      if r.key ~= '' then
        return r.key, id
      end
    end,
    id = function(_, id)
      return id
    end,
    leave = function(k, id, r)
      ff.save.disown(k, id, r.ns, r.key)
    end,
    put = function(k, id, r)
      if ff.save.owner(k, r.ns, r.key) then
        return 0
      end
      call('HSET', ff.key.idempotency(k, r.ns), r.key, id)
      return 1
    end,
    close = function(k, ns)
      local keys = {ff.key.idempotency(k, ns), ff.key.list(k, ns)}
      for reason in pairs(C.ATTENTION) do
        keys[#keys + 1] = ff.key.attention(k, ff.name.attention(ns, reason))
      end
      if call('EXISTS', unpack(keys)) == 0 then
        call('SREM', k.namespaces, ns)
      end
    end},
  -- Timers.
  {letter = 't', kind = 'ordered', of = of_partition,
    key = function(k)
      return k.timer
    end,
    entry = function(r, id)
      if r.timer ~= 0 then
        return id, r.timer
      end
    end,
    join = function(k, id, r, now)
      ff.arm(k, k.timer, id, r.timer, now)
    end},
  -- Executions that claims and grants hold.
  {letter = 'h', kind = 'ordered', of = of_partition, id = ff.name.requested,
    key = function(k)
      return k.requests
    end,
    entry = function(r, id)
      if r.holder ~= '' then
        return ff.name.request(r.holder, id), 0
      end
    end},
  -- Executions that wait for a budget or a quota.
  {letter = 'b', kind = 'ordered', key = ff.key.blocked,
    of = function(r)
      return r.blocked ~= '' and ff.name.blocked(r.ns, r.blocked) or nil
    end,
    entry = function(r, id)
      if r.blocked ~= '' then
        return id, ff.blocked.place(r.queued_at, r.priority)
      end
    end,
    join = function(k, id, r)
      ff.blocked.join(k, id, r)
    end,
    leave = function(k, id, r)
      ff.blocked.leave(k, id, r)
    end,
    put = function(k, id, r)
      return ff.blocked.join(k, id, r)
    end,
    close = function(k, name)
      ff.blocked.close(k, name)
    end},
  -- The classes of a lane.
  {letter = 'c', kind = 'classes',
    key = function(k, lane)
      local ns, name = ff.name.parts(lane)
      return ff.key.classes(k, ns, name)
    end},
  -- Claimable executions.
  {letter = 'q', kind = 'ordered', key = ff.key.queue, of = of_queue,
    entry = function(r, id)
      if r.score ~= C.NO_SCORE then
        return id, r.score
      end
    end,
    join = function(k, id, r, _, origin)
      return ff.queue.join(k, id, r.score, r.ns, r.lane, r.class, r.requires, origin)
    end,
    leave = function(k, id, r)
      ff.queue.leave(k, id, r)
    end,
    put = function(k, id, r)
      return ff.queue.put(k, id, r)
    end,
    close = function(k, name)
      ff.queue.forget(k, name)
    end},
  -- Resources, and their timers.
  {letter = 'r', kind = 'resources',
    key = function(k)
      return k.resources
    end},
  {letter = 'd', kind = 'resources',
    key = function(k)
      return k.resource_timers
    end},
  -- Continuations.
  {letter = 'f', kind = 'continuations',
    key = function(k)
      return k.continuations
    end},
}

-- The indexes of executions, and all by letter.
ff.placement = {}
local by_letter = {}
for i = 1, #ff.indexes do
  local index = ff.indexes[i]
  by_letter[index.letter] = index
  if index.entry then
    ff.placement[#ff.placement + 1] = index
  end
end

-- The index of a name, its subject, and its key. There is always one: an unknown letter leads
-- to timers.
function ff.index(k, name)
  local index, of = by_letter[string.sub(name, 1, 1)] or by_letter.t, string.sub(name, 2)
  return index, of, index.key(k, of)
end

-- Adds the entry of a record. Answers the score of a head that the execution became.
function ff.join(index, k, id, r, now, origin)
  if index.join then
    return index.join(k, id, r, now, origin)
  end
  local member, score = index.entry(r, id)
  call('ZADD', index.key(k, index.of(r)), score, member)
end

-- Removes the entry of a record.
function ff.leave(index, k, id, r)
  if index.leave then
    return index.leave(k, id, r)
  end
  local member = index.entry(r, id)
  call('ZREM', index.key(k, index.of(r)), member)
end

-- Whether the record of id has this entry of an index.
function ff.owns(index, of, r, id, member)
  return index.of(r) == of and index.entry(r, id) == member
end
