-- The keys of one partition, made from the routing key of a call, PREFIX:{p:N}. No other file builds
-- a key. Keys that many calls use are made once and remembered: making strings is most
-- of what a short function does.

-- Names of lanes and namespaces are remembered up to a bound: the interpreter's collector
-- visits what is remembered, repeatedly, in the middle of calls.
local MOST = 500

local known, count, generation = {}, 0, 0

local function forget(k)
  k.lists = {}
  k.feeds = {} -- the feed of a namespace
  k.queue_keys = {}
  k.classed = {} -- whether a queue is that of a class with requirements
  k.lanes = {} -- the settings of the lane of a queue
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
    continuations = idx .. 'continuations',
    channel = prefix .. ':wake:' .. tag,
    ended = prefix .. ':ended:' .. tag,
    logged = prefix .. ':logged:' .. tag,
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

-- The keys that a partition has one of.
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

-- Those it has many of.
ff.key = {}

-- The record of an execution.
function ff.key.record(k, id)
  return k.exec .. id
end

-- Next to a record: an input that is too long for it, the results of its runs, its collections, its
-- counters.
function ff.key.input(record)
  return record .. ':in'
end

function ff.key.result(record, run)
  return record .. ':out:' .. run
end

function ff.key.collection(record, collection)
  return record .. ':c' .. collection
end

function ff.key.tally(record)
  return record .. ':tally'
end

-- Of a namespace: its executions, and those with an idempotency key.
function ff.key.list(k, ns)
  local key = k.lists[ns]
  if not key then
    key = k.idx .. 'list:' .. ns
    bounded()
    k.lists[ns] = key
  end
  return key
end

function ff.key.idempotency(k, ns)
  return k.idx .. 'keys:' .. ns
end

-- Its feed, and its log.
function ff.key.feed(k, ns)
  local key = k.feeds[ns]
  if not key then
    key = k.prefix .. ':feed:' .. k.tag .. ':' .. ns .. ':events'
    bounded()
    k.feeds[ns] = key
  end
  return key
end

function ff.key.events(k, ns)
  return k.prefix .. ':events:' .. k.tag .. ':' .. ns
end

-- Executions that need attention for one reason, by NAMESPACE:REASON.
function ff.key.attention(k, name)
  return k.idx .. 'attention:' .. name
end

-- The classes of a lane that hold something, but for the one without requirements.
function ff.key.classes(k, ns, lane)
  return k.idx .. 'lane:' .. ns .. ':' .. lane .. ':classes'
end

-- A queue, for a walk over all of them: nothing is remembered. Answers the parts of its name
-- too.
function ff.key.any_queue(k, name)
  local ns, lane, class = ff.name.parts(name)
  local key = k.idx .. 'lane:' .. ns .. ':' .. lane .. ':eligible'
  return ff.name.queue_in(key, class), ns, lane, class
end

-- A queue by its name.
function ff.key.queue(k, name)
  local key = k.queue_keys[name]
  if not key then
    local ns, lane, class
    key, ns, lane, class = ff.key.any_queue(k, name)
    bounded()
    k.queue_keys[name], k.classed[name] = key, class ~= ''
    k.lanes[name] = k.prefix .. ':lane:' .. k.tag .. ':' .. ns .. ':' .. lane
  end
  return key
end

-- The settings of the lane of a queue.
function ff.key.lane(k, name)
  ff.key.queue(k, name)
  return k.lanes[name]
end

-- Executions that wait for a limit, all of one class, by NAMESPACE:KIND:NAME:CLASS.
function ff.key.blocked(k, name)
  return k.idx .. 'blocked:' .. name
end

-- A resource, by KIND:NAMESPACE:NAME.
function ff.key.resource(k, name)
  local kind, rest = string.match(name, '^([%l_]+):(.*)$')
  return k.prefix .. ':' .. kind .. ':' .. k.tag .. ':' .. rest
end

-- Two keys that never exist.
function ff.key.absent(k)
  return k.idx .. 'never', k.idx .. 'nowhere'
end
