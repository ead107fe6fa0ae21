-- Executions that wait for a budget or a quota: one sorted set for each limit and each admission
-- class. A name is NAMESPACE:KIND:NAME:CLASS; the registry of the partition has every name that
-- executions wait under, in the order of their bytes.

ff.blocked = {}

-- The score of a record, among waiting executions and in its queue.
function ff.blocked.place(queued_at, priority)
  return math.min(queued_at - priority * C.PRIORITY_STEP, C.SCORE_MAX)
end

-- Adds an execution to those that wait. Answers how much was missing.
function ff.blocked.join(k, id, r)
  local name = ff.name.blocked(r.ns, r.blocked)
  return call('ZADD', k.blockers, 0, name)
    + call('ZADD', ff.key.blocked(k, name), 'CH', ff.blocked.place(r.queued_at, r.priority), id)
end

-- Removes an execution from those that wait.
function ff.blocked.leave(k, id, r)
  local name = ff.name.blocked(r.ns, r.blocked)
  call('ZREM', ff.key.blocked(k, name), id)
  ff.blocked.close(k, name)
end

-- A name without waiting executions is not in the registry.
function ff.blocked.close(k, name)
  if call('EXISTS', ff.key.blocked(k, name)) == 0 then
    call('ZREM', k.blockers, name)
  end
end

-- The names of a limit, NAMESPACE:KIND:NAME, from a class on, at most this many.
function ff.blocked.classes(k, limit, from, most)
  return call('ZRANGEBYLEX', k.blockers, '[' .. limit .. ':' .. from, '(' .. limit .. ';', 'LIMIT', 0, most)
end

-- The limit after this one ('' is before the first), or nil.
function ff.blocked.after(k, limit)
  local from = limit == '' and '-' or '[' .. limit .. ';'
  local name = call('ZRANGEBYLEX', k.blockers, from, '+', 'LIMIT', 0, 1)[1]
  return name and ff.name.limit(name)
end
