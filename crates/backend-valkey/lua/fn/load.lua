-- Reads what a command must see, all of one partition.
--
-- args: questions one after the other, each a letter and its arguments:
--   r id                          a record
--   k namespace key               the execution of an idempotency key
--   n namespace lane limit count classes...   candidates of a queue
--   h request (16 bytes)          what a claim or grant holds
--   c namespace lane class        how many other classes a lane has
--   p id run                      a payload: the result of a run, or the input where run is ''
--   e id collection name          an element
--   s id collection from limit    elements in a row
--   w id                          the two ends of a stream
--   g name                        a resource
--   f member                      a continuation
--   t id                          the counters of an execution
-- reply: {now, an answer to each}: bytes or false; an id or false; a list of ids and records; the
--       same; a number; bytes or false; {number, bytes} or false; {number, bytes, ...}; of each end
--       its number, first bytes and length, {} if there is none; bytes or false;
--       when it is due or false; {counter, value, ...}.
--       Of an execution whose record cannot be read, no elements are known: the answer is -1. An answer
--       that raises an error is that error.

local function with_records(k, ids)
  local found = {}
  for _, id in ipairs(ids) do
    found[#found + 1] = id
    found[#found + 1] = call('GET', ff.key.record(k, id))
  end
  return found
end

local answer = {}

function answer.r(k, args, at)
  return call('GET', ff.key.record(k, args[at]))
end

function answer.k(k, args, at)
  return ff.save.owner(k, args[at], args[at + 1])
end

function answer.n(k, args, at)
  local last = at + 3 + tonumber(args[at + 3])
  local keys, ids = {}, {}
  for i = at + 4, last do
    keys[#keys + 1] = ff.key.queue(k, ff.name.queue(args[at], args[at + 1], args[i]))
  end
  local limit = tonumber(args[at + 2])
  local found = ff.queue.best(keys, limit)
  for i = 1, math.min(#found / 3, limit) do
    ids[i] = found[3 * i - 2]
  end
  return with_records(k, ids)
end

function answer.h(k, args, at)
  local ids = {}
  for i, entry in ipairs(call('ZRANGEBYLEX', k.requests, ff.name.beginning(args[at]))) do
    ids[i] = ff.name.requested(entry)
  end
  return with_records(k, ids)
end

function answer.c(k, args, at)
  local classes = ff.key.classes(k, args[at], args[at + 1])
  return call('HLEN', classes) - call('HEXISTS', classes, args[at + 2])
end

-- A payload, in its record or under its own key.
local function payload(place, here, key)
  if place == C.PLACE_OWN_KEY then
    return call('GET', key)
  end
  return place == C.PLACE_HERE and here
end

function answer.p(k, args, at)
  local r, record, run = ff.record.get(k, args[at]), ff.key.record(k, args[at]), args[at + 1]
  local found = false
  if r and run == '' then
    found = payload(r.input_place, r.input, ff.key.input(record))
  elseif r and tonumber(run) == r.run then
    found = payload(r.result_place, r.result, ff.key.result(record, run))
  elseif r then
    found = call('GET', ff.key.result(record, run))
  end
  return found
end

-- What read makes of the record of id, none if there is none, -1 if it cannot be read.
local function beside(k, id, none, read)
  local r = ff.record.get(k, id)
  if r == nil then
    return none
  end
  if r == false then
    return -1
  end
  return read(ff.key.record(k, id), r)
end

function answer.e(k, args, at)
  return beside(k, args[at], false, function(record, r)
    return ff.elements.named(record, r, tonumber(args[at + 1]), args[at + 2])
  end)
end

function answer.s(k, args, at)
  return beside(k, args[at], {}, function(record, r)
    local collection, from, limit = unpack(args, at + 1, at + 3)
    return ff.elements.range(record, r, tonumber(collection), tonumber(from), tonumber(limit))
  end)
end

function answer.w(k, args, at)
  return ff.frames.ends(ff.key.collection(ff.key.record(k, args[at]), C.COLLECTION_FRAMES))
end

function answer.g(k, args, at)
  return call('GET', ff.key.resource(k, args[at]))
end

function answer.f(k, args, at)
  return call('ZSCORE', k.continuations, args[at])
end

function answer.t(k, args, at)
  return call('HGETALL', ff.key.tally(ff.key.record(k, args[at])))
end

-- How many arguments a question has; one for candidates has its classes in addition.
local WIDTH = {r = 1, k = 2, n = 4, h = 1, c = 3, p = 2, e = 3, s = 4, w = 1, g = 1, f = 1, t = 1}

-- Where the question after the one at a place begins; nil if there is none at that place.
local function following(args, at)
  local width = WIDTH[args[at]]
  if width and args[at] == 'n' then
    width = width + math.max(0, tonumber(args[at + 4]) or math.huge)
  end
  return width and at + 1 + width
end

register('load', function(keys, args)
  if not whole(args, 1, following) then
    return redis.error_reply('FF_ARITY load was asked other than whole questions')
  end
  local k, at = ff.keys(keys[1]), 1
  local reply = {now()}
  while at <= #args do
    reply[#reply + 1] = apart(answer[args[at]], k, args, at + 1)
    at = following(args, at)
  end
  return reply
end, {'no-writes'}, 0, 1)
