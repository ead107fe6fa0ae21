-- The keys of one partition, made from the routing key of a call, PREFIX:{p:N}. They are made once
-- and remembered: making strings is most of what a short function does.

-- Names of lanes and namespaces are remembered until there are so many: the interpreter's collector
-- visits what is remembered, again and again, in the middle of calls.
local MOST = 500

local known, count, generation = {}, 0, 0

local function forget(k)
  k.lists = {}
  k.queue_keys = {}
  k.classed = {} -- whether a queue is that of a class with requirements
  k.gates = {} -- where it is said what the lane of a queue goes by
  k.generation = generation
end

local function make(route)
  local prefix, tag = string.match(route, '^(.*):({p:%d+})$')
  local idx = prefix .. ':idx:' .. tag .. ':'
  local k = {
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
  }
  forget(k)
  return k
end

-- One more name is remembered; past the bound every partition forgets its own when it is next used.
local function bounded()
  count = count + 1
  if count > MOST then
    generation, count = generation + 1, 0
  end
end

ff.keys = function(route)
  local k = known[route]
  if not k then
    k = make(route)
    known[route] = k
  elseif k.generation ~= generation then
    forget(k)
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

-- The queue of a class, for one who goes through all of them: nothing is remembered. Answers the
-- parts of its name too.
ff.any_queue_key = function(k, name)
  local ns, lane, class = string.match(name, '^([^:]*):([^:]*):?(.*)$')
  local key = k.idx .. 'lane:' .. ns .. ':' .. lane .. ':eligible' .. (class == '' and '' or ':' .. class)
  return key, ns, lane, class
end

-- The queue of a class; name is NAMESPACE:LANE, with :CLASS unless that is ''.
ff.queue_key = function(k, name)
  local key = k.queue_keys[name]
  if not key then
    local ns, lane, class
    key, ns, lane, class = ff.any_queue_key(k, name)
    bounded()
    k.queue_keys[name], k.classed[name] = key, class ~= ''
    k.gates[name] = k.prefix .. ':lane:' .. k.tag .. ':' .. ns .. ':' .. lane
  end
  return key
end
