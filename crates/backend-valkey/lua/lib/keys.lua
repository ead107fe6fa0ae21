-- The keys of one partition, made from the routing key of a call, PREFIX:{p:N}. They are made once
-- and remembered: making strings is most of what a short function does.

local known, count = {}, 0

-- Names are remembered until there are this many.
local MOST = 10000

local function make(route)
  local prefix, tag = string.match(route, '^(.*):({p:%d+})$')
  local idx = prefix .. ':idx:' .. tag .. ':'
  return {
    prefix = prefix,
    tag = tag,
    exec = prefix .. ':exec:' .. tag .. ':',
    idx = idx,
    timer = idx .. 'timer',
    requests = idx .. 'requests',
    queues = idx .. 'queues',
    namespaces = idx .. 'namespaces',
    blockers = idx .. 'blockers',
    resources = idx .. 'resources',
    resource_timers = idx .. 'resource_timers',
    channel = prefix .. ':wake:' .. tag,
    lists = {},
    queue_keys = {},
    classed = {}, -- whether a queue is that of a class with requirements
    gates = {}, -- where it is said what the lane of a queue goes by
  }
end

-- A table that would outgrow its bound begins anew, and everything remembered with it.
local function bounded()
  count = count + 1
  if count > MOST then
    known, count = {}, 0
  end
end

ff.keys = function(route)
  local k = known[route]
  if not k then
    k = make(route)
    bounded()
    known[route] = k
  end
  return k
end

ff.list_key = function(k, ns)
  local key = k.lists[ns]
  if not key then
    key = k.idx .. 'list:' .. ns
    bounded()
    k.lists[ns] = key
  end
  return key
end

-- The queue of a class; name is NAMESPACE:LANE, with :CLASS unless that is ''.
ff.queue_key = function(k, name)
  local key = k.queue_keys[name]
  if not key then
    local ns, lane, class = string.match(name, '^([^:]*):([^:]*):?(.*)$')
    key = k.idx .. 'lane:' .. ns .. ':' .. lane .. ':eligible' .. (class == '' and '' or ':' .. class)
    bounded()
    k.queue_keys[name], k.classed[name] = key, class ~= ''
    k.gates[name] = k.prefix .. ':lane:' .. k.tag .. ':' .. ns .. ':' .. lane
  end
  return key
end
