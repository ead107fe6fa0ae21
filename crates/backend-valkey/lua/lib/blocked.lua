-- Executions that wait for a budget or a quota: one ordered set for each limit and each class of what
-- they ask for. A name is NAMESPACE:KIND:NAME:CLASS; the registry of the partition has every name that
-- some wait under, in the order of their bytes.

ff.blocked = {}

function ff.blocked.key(k, name)
  return k.idx .. 'blocked:' .. name
end

-- What a record waits under, '' if it does not.
function ff.blocked.name(r)
  return r.blocked == '' and '' or r.ns .. ':' .. r.blocked
end

-- The place of a record, among those that wait and in its queue.
function ff.blocked.place(queued_at, priority)
  return math.min(queued_at - priority * C.PRIORITY_STEP, C.SCORE_MAX)
end

local function place(r)
  return ff.blocked.place(r.queued_at, r.priority)
end

-- Puts an execution among those that wait, in its place. Answers how much was missing.
function ff.blocked.join(k, id, r)
  local name = ff.blocked.name(r)
  return call('ZADD', k.blockers, 0, name)
    + call('ZADD', ff.blocked.key(k, name), 'CH', place(r), id)
end

-- Takes an execution out of those that wait for a name.
function ff.blocked.leave(k, id, name)
  call('ZREM', ff.blocked.key(k, name), id)
  ff.blocked.close(k, name)
end

-- A name that none waits under is not in the registry.
function ff.blocked.close(k, name)
  if call('EXISTS', ff.blocked.key(k, name)) == 0 then
    call('ZREM', k.blockers, name)
  end
end

-- What an update of a record changes: new places come first.
function ff.blocked.moved(k, id, was, r)
  if r.blocked ~= '' and (r.blocked ~= was.blocked or place(r) ~= place(was)) then
    ff.blocked.join(k, id, r)
  end
  if was.blocked ~= '' and r.blocked ~= was.blocked then
    ff.blocked.leave(k, id, ff.blocked.name(was))
  end
end

-- The names of a limit, NAMESPACE:KIND:NAME, from a class on, at most so many.
function ff.blocked.classes(k, limit, from, most)
  return call('ZRANGEBYLEX', k.blockers, '[' .. limit .. ':' .. from, '(' .. limit .. ';', 'LIMIT', 0, most)
end

-- The limit after this one ('' is before the first), or nil.
function ff.blocked.after(k, limit)
  local from = limit == '' and '-' or '[' .. limit .. ';'
  local name = call('ZRANGEBYLEX', k.blockers, from, '+', 'LIMIT', 0, 1)[1]
  return name and string.sub(name, 1, -C.CLASS_NAME - 2)
end
