-- The names that index entries and keys consist of.

ff.name = {}

-- A queue: NAMESPACE:LANE, with :CLASS unless that is ''.
function ff.name.queue(ns, lane, class)
  return class == '' and ns .. ':' .. lane or ns .. ':' .. lane .. ':' .. class
end

-- The queue of a class of a lane, which is NAMESPACE:LANE.
function ff.name.queue_in(lane, class)
  return class == '' and lane or lane .. ':' .. class
end

-- Namespace, lane and class of a queue.
function ff.name.parts(queue)
  return string.match(queue, '^([^:]*):([^:]*):?(.*)$')
end

-- The name under which an execution of a namespace is listed for attention, NAMESPACE:REASON, from the
-- number of the reason in its record. One that a newer release has written is its number.
function ff.name.attention(ns, reason)
  return ns .. ':' .. (C.ATTENTION[reason] or reason)
end

-- The name under which an execution of a namespace waits, NAMESPACE:KIND:NAME:CLASS, from that in its
-- record, KIND:NAME:CLASS.
function ff.name.blocked(ns, blocked)
  return ns .. ':' .. blocked
end

-- Either of these without its class: the limit.
function ff.name.limit(blocked)
  return string.sub(blocked, 1, -C.CLASS_NAME - 2)
end

-- The class alone.
function ff.name.admission_class(blocked)
  return string.sub(blocked, -C.CLASS_NAME)
end

-- The entry of what holds an execution: the request of the lease or grant, and the id.
function ff.name.request(holder, id)
  return string.sub(holder, 1, C.REQUEST_TO) .. id
end

-- The execution of such an entry.
function ff.name.requested(entry)
  return string.sub(entry, C.REQUEST_TO + 1)
end

-- A resource.
function ff.name.resource(kind, ns, name)
  return kind .. ':' .. ns .. ':' .. name
end

-- The entries that begin with a text, as the first and the last argument of ZRANGEBYLEX.
function ff.name.beginning(text)
  return '[' .. text, '(' .. text .. '\255'
end
