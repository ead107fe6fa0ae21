-- The resources of a partition: workers, the state of lanes. A name is KIND:NAMESPACE:NAME. What is
-- stored begins with what functions look at; the rest only the engine reads.

-- Version, the gate of a lane (see ff.gate) and timer, 0 where there is none.
local HEAD = '>c8BI6'

ff.resource = {}

function ff.resource.key(k, name)
  local kind, rest = string.match(name, '^(%l+):(.*)$')
  return k.prefix .. ':' .. kind .. ':' .. k.tag .. ':' .. rest
end

-- Version and timer of what is stored; nil if it cannot be read.
function ff.resource.head(bytes)
  local whole, version, _, timer = pcall(struct.unpack, HEAD, bytes)
  if whole then
    return version, timer
  end
end

-- A resource that is to become these bytes ('' to remove it) and the bytes it has, false if there are
-- none; nil if it no longer has this version ('' if there must be none), or the bytes are damaged.
function ff.resource.examined(k, name, version, bytes)
  local key = ff.resource.key(k, name)
  local was = call('GET', key)
  if (was and string.sub(was, 1, 8) or '') == version and (bytes == '' or ff.resource.head(bytes)) then
    return {key, was}
  end
end

-- Writes an examined resource, or removes it. Whoever waits for a lane hears that something was said
-- of it.
function ff.resource.put(k, name, examined, bytes)
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
    call('ZADD', k.resource_timers, timer, name)
  elseif timer == 0 and was and armed ~= 0 then
    call('ZREM', k.resource_timers, name)
  end
  if string.sub(name, 1, 5) == 'lane:' then
    call('SPUBLISH', k.channel, 'M')
  end
end

-- The settings of a queue's lane: whether it refuses claims, whether it refuses submits, whether
-- its own quota must admit what is claimed, and whether it says what its submits ask for.
function ff.gate(k, queue)
  ff.queue_key(k, queue)
  local byte = call('GETRANGE', k.gates[queue], 8, 8)
  local gate = byte == '' and 0 or string.byte(byte)
  return gate % 2 >= 1, gate % 4 >= 2, gate % 8 >= 4, gate % 16 >= 8
end

-- Whether budgets, quotas or its lane must admit what has this limits, and have not.
function ff.asks(limits, limited)
  return limits == 1 or limits == 0 and limited
end
