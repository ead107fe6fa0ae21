-- The entries of the indexes of one partition, and what they lead to, a page at a time. Of payloads
-- only the length is returned.
--
-- args: place in the first index to continue from ('0' for the start), about how many entries and bytes
--       at most, then the names of one or more indexes (see lib/placement).
-- reply: {how many of the indexes were read to their end, place in the next one, then rows}. A row is
--       the letter of its index, its subject, member and score (or field and value) of an entry;
--       it is followed by
--   l        record?, length of the input?, {run, length of its result, ...}, {number, attempt, ...}?,
--            {other collections}, {counter, value, ...}
--   q        what the class of the queue requires?
--   r        the resource?
--       An execution with many attempts has none in its row; see dump_elements.

-- How long a payload under a separate key is; false if there is none.
local function length(key)
  local bytes = call('STRLEN', key)
  return (bytes > 0 or call('EXISTS', key) == 1) and bytes
end

local function results(record, r)
  local found = {}
  if r then
    for run = 0, math.min(r.run, C.RUNS) do
      local here = run == r.run and r.result_place == C.PLACE_HERE
      local bytes = here and #r.result or length(ff.key.result(record, run))
      if bytes then
        found[#found + 1] = run
        found[#found + 1] = bytes
      end
    end
  end
  return found
end

local function attempts(record)
  local key = ff.key.collection(record, C.COLLECTION_ATTEMPTS)
  return call('HLEN', key) <= C.ELEMENTS and call('HGETALL', key)
end

-- What follows an entry, by the letter of its index.
local behind = {}

function behind.l(k, _, id)
  local record = ff.key.record(k, id)
  local bytes = call('GET', record)
  local r = bytes and ff.record.unpack(bytes)
  local input = r and r.input_place == C.PLACE_HERE and #r.input or length(ff.key.input(record))
  return bytes, input, results(record, r), attempts(record), ff.elements.present(record),
    call('HGETALL', ff.key.tally(record))
end

-- What the executions of a class require that its lane has not registered; false if it is unknown.
local function required(k, id, class)
  local r = ff.record.get(k, id)
  return r and r.class == class and r.requires
end

function behind.q(k, queue, id)
  local ns, lane, class = ff.name.parts(queue)
  local known = class == '' and '' or call('HGET', ff.key.classes(k, ns, lane), class)
  return known or required(k, id, class)
end

function behind.r(k, _, name)
  return call('GET', ff.key.resource(k, name))
end

local function nothing()
end

local function row(k, letter, of, member, value)
  return {letter, of, member, value, (behind[letter] or nothing)(k, of, member)}
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

function page.ordered(k, letter, of, key, offset, limit, bytes, reply)
  local members = call('ZRANGE', key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #members, 2 do
    local found = row(k, letter, of, members[i], members[i + 1])
    reply[#reply + 1], bytes = found, bytes - size(found)
    if bytes <= 0 and i + 1 < #members then
      return string.format('%.0f', offset + (i + 1) / 2), bytes
    end
  end
  return #members == 2 * limit and string.format('%.0f', offset + limit) or nil, bytes
end

function page.hashed(k, letter, of, key, cursor, limit, bytes, reply)
  local found = call('HSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #found[2], 2 do
    reply[#reply + 1] = row(k, letter, of, found[2][i], found[2][i + 1])
    bytes = bytes - size(reply[#reply])
  end
  return found[1] ~= '0' and found[1] or nil, bytes
end

page.classes, page.resources, page.continuations = page.hashed, page.ordered, page.ordered

register('dump', function(keys, args)
  local k, place, limit, bytes = ff.keys(keys[1]), args[1], tonumber(args[2]), tonumber(args[3])
  local reply = {0, '0'}
  for i = 4, #args do
    local index, of, key = ff.index(k, args[i])
    local left = limit - (#reply - 2)
    place, bytes = page[index.kind](k, index.letter, of, key, place, left, bytes, reply)
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
