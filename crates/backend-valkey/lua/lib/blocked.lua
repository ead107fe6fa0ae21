-- Executions that wait for a budget or a quota: one ordered set for each that some wait for. A name is
-- NAMESPACE:KIND:NAME; the registry of the partition has every name that somebody waits for.

ff.blocked = {}

function ff.blocked.key(k, name)
  return k.idx .. 'blocked:' .. name
end

-- Whom a record waits for, '' if it does not.
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
  return call('SADD', k.blockers, name)
    + call('ZADD', ff.blocked.key(k, name), 'CH', place(r), id)
end

-- Takes an execution out of those that wait for a name.
function ff.blocked.leave(k, id, name)
  call('ZREM', ff.blocked.key(k, name), id)
  ff.blocked.close(k, name)
end

-- A name that nobody waits for is not in the registry.
function ff.blocked.close(k, name)
  if call('EXISTS', ff.blocked.key(k, name)) == 0 then
    call('SREM', k.blockers, name)
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
