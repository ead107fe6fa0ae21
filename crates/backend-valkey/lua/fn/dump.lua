-- What the indexes of one partition hold, and what they lead to, a page at a time. Payloads are told
-- by their length.
--
-- args: place in the first index to go on from ('0' for the start), about how many entries and bytes
--       at most, then the names of one or more indexes (see lib/indexes).
-- reply: {how many of the indexes were read to their end, place in the next one, then rows}. A row is
--       the letter of its index and its fields:
--   l namespace created id record? input-length? {run, length, ...} {number, attempt, ...}?
--   a namespace created id        k namespace key id         t due id       h request+id
--   q namespace lane requires? score id                      c namespace lane requires
--   b namespace:kind:name:class score id
--   r name resource?                                         d due name
--       An execution with many attempts has none in its row.

-- How long a payload under its own key is; false if there is none.
local function length(key)
  local bytes = call('STRLEN', key)
  return (bytes > 0 or call('EXISTS', key) == 1) and bytes
end

local function results(exec, r)
  local found = {}
  if r then
    for run = 0, math.min(r.run, C.RUNS) do
      local here = run == r.run and r.result_at == C.HERE
      local bytes = here and #r.result or length(exec .. ':out:' .. run)
      if bytes then
        found[#found + 1] = run
        found[#found + 1] = bytes
      end
    end
  end
  return found
end

local function attempts(exec)
  return call('HLEN', exec .. ':att') <= C.ATTEMPTS and call('HGETALL', exec .. ':att')
end

local row = {}

function row.l(k, ns, created, id)
  local exec = k.exec .. id
  local bytes = call('GET', exec)
  local r = bytes and ff.record.unpack(bytes)
  local input = r and r.input_at == C.HERE and #r.input or length(exec .. ':in')
  return {'l', ns, created, id, bytes, input, results(exec, r), attempts(exec)}
end

function row.a(_, ns, created, id)
  return {'a', ns, created, id}
end

function row.k(_, ns, key, id)
  return {'k', ns, key, id}
end

function row.t(_, _, due, id)
  return {'t', due, id}
end

function row.h(_, _, _, member)
  return {'h', member}
end

function row.b(_, name, score, id)
  return {'b', name, score, id}
end

function row.r(k, _, _, name)
  return {'r', name, call('GET', ff.resource.key(k, name))}
end

function row.d(_, _, due, name)
  return {'d', due, name}
end

function row.c(_, lane, _, requires)
  local ns, name = ff.queue.parts(lane)
  return {'c', ns, name, requires}
end

-- What the executions of a class require, of which its lane does not know; false if nobody knows.
local function required(k, id, class)
  local r = ff.record.get(k, id)
  return r and r.class == class and r.requires
end

function row.q(k, queue, score, id)
  local ns, lane, class = ff.queue.parts(queue)
  local known = class == '' and '' or call('HGET', ff.queue.classes_key(k, ns, lane), class)
  return {'q', ns, lane, known or required(k, id, class), score, id}
end

-- How many bytes a row has, about.
local function size(value)
  if type(value) ~= 'table' then
    return type(value) == 'string' and #value or 8
  end
  local sum = 0
  for i = 1, #value do
    sum = sum + size(value[i])
  end
  return sum
end

-- A page of an index. Answers the next place, or nil at its end, and how much is left of the page.
local page = {}

function page.ordered(k, index, offset, limit, bytes, reply)
  local members = call('ZRANGE', index.key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #members, 2 do
    local found = row[index.letter](k, index.of, members[i + 1], members[i])
    reply[#reply + 1], bytes = found, bytes - size(found)
    if bytes <= 0 and i + 1 < #members then
      return string.format('%.0f', offset + (i + 1) / 2), bytes
    end
  end
  return #members == 2 * limit and string.format('%.0f', offset + limit) or nil, bytes
end

function page.hashed(k, index, cursor, limit, bytes, reply)
  local found = call('HSCAN', index.key, cursor, 'COUNT', limit)
  for i = 1, #found[2], 2 do
    reply[#reply + 1] = row[index.letter](k, index.of, found[2][i], found[2][i + 1])
    bytes = bytes - size(reply[#reply])
  end
  return found[1] ~= '0' and found[1] or nil, bytes
end

page.classes, page.resources = page.hashed, page.ordered

register('dump', function(keys, args)
  local k, place, limit, bytes = ff.keys(keys[1]), args[1], tonumber(args[2]), tonumber(args[3])
  local reply = {0, '0'}
  for i = 4, #args do
    local index = ff.index(k, args[i])
    local left = limit - (#reply - 2)
    place, bytes = page[index.kind](k, index, place, left, bytes, reply)
    if place then
      reply[2] = place
      break
    end
    reply[1], place = i - 3, '0'
    if #reply - 2 >= limit or bytes <= 0 then
      break
    end
  end
  return reply
end, {'no-writes'}, 3, 1, {2, 3})
