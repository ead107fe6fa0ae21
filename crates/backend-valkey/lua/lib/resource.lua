-- The resources of a partition: workers, lanes, budgets, quotas, tickets. A name is
-- KIND:NAMESPACE:NAME. The stored bytes begin with what functions read: version, the gate of a lane
-- (see ff.gate) and timer, 0 where there is none. Only the engine reads the rest.

local HEAD = '>$RESOURCE'

ff.resource = {}

-- Version and timer of the stored bytes; nil if they cannot be read.
function ff.resource.head(bytes)
  local whole, $resource = pcall(struct.unpack, HEAD, bytes)
  if whole then
    return version, timer
  end
end

-- A resource that is to become these bytes ('' to remove it) and the bytes it has, false if there are
-- none; nil if it no longer has this version ('' if there must be none), or the bytes are damaged.
function ff.resource.examined(k, name, version, bytes)
  local key = ff.key.resource(k, name)
  local was = call('GET', key)
  local found = was and string.sub(was, C.RESOURCE_VERSION_FROM, C.RESOURCE_VERSION_TO) or ''
  if found == version and (bytes == '' or ff.resource.head(bytes)) then
    return {key, was}
  end
end

-- Writes an examined resource, or removes it. A change of lane settings is announced: claims that wait
-- on the lane read it again.
function ff.resource.put(k, name, examined, bytes, now)
  local key, was = examined[1], examined[2]
  if bytes == '' then
    call('DEL', key)
    call('ZREM', k.resource_timers, name)
    call('ZREM', k.resources, name)
    return
  end
  local _, timer = ff.resource.head(bytes)
  local _, armed = ff.resource.head(was or bytes)
  if not was then
    call('ZADD', k.resources, 0, name)
  end
  call('SET', key, bytes)
  if timer ~= 0 and (timer ~= armed or not was) then
    ff.arm(k, k.resource_timers, name, timer, now)
  elseif timer == 0 and was and armed ~= 0 then
    call('ZREM', k.resource_timers, name)
  end
  if string.sub(name, 1, 5) == 'lane:' then
    call('SPUBLISH', k.channel, 'M')
  end
end

-- Makes the entries of a resource agree with it. Answers how many entries had no resource, how much was
-- missing and how much was in excess. What cannot be read or is of another type is left alone.
function ff.resource.place(k, name)
  local read, bytes = pcall(call, 'GET', ff.key.resource(k, name))
  if not read then
    return 0, 0, 0
  end
  if not bytes then
    return call('ZREM', k.resources, name) + call('ZREM', k.resource_timers, name), 0, 0
  end
  local _, timer = ff.resource.head(bytes)
  if not timer then
    return 0, 0, 0
  end
  local missing = call('ZADD', k.resources, 0, name)
  if timer ~= 0 then
    return 0, missing + call('ZADD', k.resource_timers, 'CH', timer, name), 0
  end
  return 0, missing, call('ZREM', k.resource_timers, name)
end

-- The settings of a queue's lane: whether it refuses claims, whether it refuses submits, whether
-- its quota must admit what is claimed, and whether it has defaults for its submits.
function ff.gate(k, queue)
  local at = C.RESOURCE_GATE_AT - 1
  local byte = call('GETRANGE', ff.key.lane(k, queue), at, at)
  if byte == '' then
    return false, false, false, false
  end
  local gate = string.byte(byte)
  return bit.band(gate, C.GATE_PAUSED) ~= 0, bit.band(gate, C.GATE_DRAINING) ~= 0,
    bit.band(gate, C.GATE_LIMITED) ~= 0, bit.band(gate, C.GATE_DEFAULTS) ~= 0
end

-- Whether an execution with these flags still needs admission: it names budgets or quotas, or
-- its lane has a limit.
function ff.asks(limits, limited)
  return bit.band(limits, C.LIMITS_ADMITTED) == 0
    and (limited or bit.band(limits, C.LIMITS_NAMED) ~= 0)
end
